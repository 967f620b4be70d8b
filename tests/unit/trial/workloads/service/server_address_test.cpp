#include "trial/workloads/service/server_address.h"

#include <tuple>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(NearbyUrl, LoopbackAndPrivateHostsAreNearby) {
  for (const char* url :
       {"http://127.0.0.1:8080/ocr", "http://localhost/ocr", "http://LOCALHOST:1",
        "http://[::1]:80/", "http://10.1.2.3", "http://192.168.0.7:9/x", "http://172.16.0.1",
        "http://172.31.255.1", "http://169.254.1.1", "http://[fd00::1]", "http://[fe80::1]",
        "http://ocr:8000/predict", "http://box.local", "http://ocr.svc.internal?x=1",
        "http://me:secret@127.0.0.1/"}) {
    EXPECT_TRUE(is_nearby_url(url)) << url;
  }
}

TEST(NearbyUrl, OtherHostsAreNot) {
  for (const char* url :
       {"http://example.org/ocr", "https://ocr.example.org:8443", "http://8.8.8.8",
        "http://172.32.0.1", "http://11.0.0.1", "http://[2001:db8::1]:80/",
        "http://127.0.0.1.example.org", "http://10.example.org"}) {
    EXPECT_FALSE(is_nearby_url(url)) << url;
  }
}

TEST(UrlPlace, HostAndPort) {
  for (const auto& [url, host, port] :
       {std::tuple{"http://127.0.0.1:8080/ocr", "127.0.0.1", 8080},
        std::tuple{"https://ocr.example.org/x:y", "ocr.example.org", 443},
        std::tuple{"http://[::1]:81/?a=b:c", "::1", 81}, std::tuple{"http://[::1]", "::1", 80},
        std::tuple{"http://me:secret@box:9", "box", 9}, std::tuple{"http://box:{port}/", "box", 0},
        std::tuple{"http://box:70000/", "box", 0}}) {
    EXPECT_EQ(url_place(url).host, host) << url;
    EXPECT_EQ(url_place(url).port, port) << url;
  }
}

TEST(UrlPlace, PathsAtAServer) {
  EXPECT_EQ(url_path("http://box:9/a/b?c=/d"), "/a/b");
  EXPECT_EQ(url_path("http://box:9"), "/");
  EXPECT_EQ(at_server("/metrics", "http://box:9/a/b?c"), "http://box:9/metrics");
  EXPECT_EQ(at_server("http://other/x", "http://box:9/a"), "http://other/x");
}

}  // namespace
}  // namespace ocrtune
