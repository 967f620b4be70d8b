// A server on loopback that answers every request alike, or by what it says, or resets the
// connection.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ocrtune {

class LoopbackServer {
 public:
  // `port` 0: any that is free.
  explicit LoopbackServer(const std::string& answer, int port = 0)
      : LoopbackServer([answer](const std::string&) { return answer; }, port) {}
  // `answer` gives what is written for a request, from several threads; empty: nothing.
  explicit LoopbackServer(std::function<std::string(const std::string&)> answer, int port = 0)
      : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const int again = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 256);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~LoopbackServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& one : serving_) one.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/ocr"; }
  std::string last_request() const { return last_; }
  std::atomic<int> requests{0};

 private:
  void accept_all() {
    for (int peer = 0; (peer = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      serving_.emplace_back([this, peer] { serve(peer); });
    }
  }
  void serve(int peer) {
    std::string text;
    std::array<char, 4096> block{};
    for (ssize_t got = 0; (got = ::read(peer, block.data(), block.size())) > 0;) {
      text.append(block.data(), static_cast<std::size_t>(got));
      const std::size_t head = text.find("\r\n\r\n");
      if (head == std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      const std::size_t body = length < head ? std::stoul(text.substr(length + 16)) : 0;
      if (text.size() < head + 4 + body) continue;
      if (requests++ == 0) last_ = text;
      const std::string answer = answer_(text);
      text.clear();
      if (answer.empty()) break;
      if (::write(peer, answer.data(), answer.size()) < 0) break;
    }
    ::close(peer);
  }

  std::function<std::string(const std::string&)> answer_;
  std::string last_;
  int listener_ = -1;
  int port_ = 0;
  std::thread accepting_;
  std::vector<std::thread> serving_;
};

}  // namespace ocrtune
