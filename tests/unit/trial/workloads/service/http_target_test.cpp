#include "trial/workloads/service/http_target.h"

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

}  // namespace
}  // namespace ocrtune
