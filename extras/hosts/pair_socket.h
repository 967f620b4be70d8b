// One TCP connection between two agents: its latency, and its rate in one direction.
//
// The port is the kernel's choice, open for one connection that knows the token, and for seconds.
#pragma once

#include <string>

#include "base/result.h"

namespace ocrtune {

inline constexpr double kPairConnectSeconds = 3;

class PairListener {
 public:
  // On one address of this host. failed: the kernel's reason.
  static Result<PairListener> open(const std::string& address);
  PairListener(PairListener&& other) noexcept;
  PairListener& operator=(PairListener&&) = delete;
  ~PairListener();

  int port() const { return port_; }
  // Answers the pings of all that send the token, then counts what arrives for `seconds` and closes
  // the connection. Bytes a second; 0: pings came and large messages did not. failed: nobody came.
  Result<double> receive(const std::string& token, double seconds);

 private:
  PairListener(int socket, int port) : socket_(socket), port_(port) {}
  int socket_;
  int port_;
};

// The sender's side: half of the median round trip in seconds. `from` is an address of this host,
// "" leaves it to the routing. failed: "connect to 10.0.0.2: Connection timed out".
Result<double> send_pair(const std::string& from, const std::string& to, int port,
                         const std::string& token, double seconds);

}  // namespace ocrtune
