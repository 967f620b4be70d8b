#include "trial/workloads/service/request_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class RequestFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = make_temporary_directory("request").value();
    ASSERT_TRUE(write_file(folder_ + "/a.png", bytes_).ok());
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  Result<HttpBody> read(const std::string& text) const {
    const std::string path = folder_ + "/a.request.toml";
    EXPECT_TRUE(write_file(path, text).ok());
    return read_request(path);
  }

  std::string bytes_ = std::string("\xff\x00\x10zq", 5);
  std::string folder_;
};

TEST_F(RequestFiles, AnyOtherFileIsSentAsItIs) {
  const auto plain = read_request(folder_ + "/a.png");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->content_type, "image/png");
  EXPECT_EQ(plain->bytes, bytes_);
}

TEST_F(RequestFiles, JsonHoldsTheFileInBase64) {
  const auto plain = read(R"(file = "a.png"
json = '{"file": "{base64}", "name": "{file_name}", "fileType": 1}'
answer = ["errorCode=0"]
same = ["result.texts"]
)");
  ASSERT_TRUE(plain.ok()) << plain.error().what;
  EXPECT_EQ(plain->content_type, "application/json");
  EXPECT_EQ(plain->bytes, R"({"file": "/wAQenE=", "name": "a.png", "fileType": 1})");
  EXPECT_THAT(plain->answer, ElementsAre("errorCode=0"));
  EXPECT_THAT(plain->same, ElementsAre("result.texts"));
  const auto chat = read("file = \"a.png\"\njson = '{\"image_url\": {\"url\": \"{data_uri}\"}}'\n");
  ASSERT_TRUE(chat.ok()) << chat.error().what;
  EXPECT_EQ(chat->bytes, R"({"image_url": {"url": "data:image/png;base64,/wAQenE="}})");
}

TEST_F(RequestFiles, AFormHoldsTheFileItself) {
  const auto form = read("file = \"a.png\"\nform = { image = \"{file}\", lang = \"en\" }\n");
  ASSERT_TRUE(form.ok()) << form.error().what;
  EXPECT_EQ(form->content_type, "multipart/form-data; boundary=ocrtune");
  EXPECT_EQ(form->bytes,
            "--ocrtune\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\n"
            "Content-Type: image/png\r\n\r\n" +
                bytes_ +
                "\r\n--ocrtune\r\nContent-Disposition: form-data; name=\"lang\"\r\n\r\nen\r\n"
                "--ocrtune--\r\n");
}

std::string variant(const HttpBody& body, std::uint64_t number) {
  std::string text(body.bytes.size(), '\0');
  for (std::size_t at = 0; at < text.size(); at += 7) {  // as a transfer asks for it
    EXPECT_GT(copy_variant(body, number, at, text.data() + at, 7), 0U);
  }
  return text;
}

TEST_F(RequestFiles, APictureIsSentInVariantsOfItsOwn) {
  const std::string picture = "\x89PNG....";
  ASSERT_TRUE(write_file(folder_ + "/a.png", picture).ok());
  const HttpBody plain = read_request(folder_ + "/a.png").value();
  EXPECT_EQ(variant(plain, 7), picture + "\n\n%000000000000007\n");
  EXPECT_EQ(plain.exact, picture);
  const std::string request = "file = \"a.png\"\njson = '{\"f\": \"{base64}\"}'\n";
  const HttpBody coded = read(request).value();
  EXPECT_NE(variant(coded, 7), variant(coded, 8));
  EXPECT_EQ(variant(coded, 7).size(), coded.bytes.size());
  EXPECT_THAT(variant(coded, 7), HasSubstr("CiUwMDAwMDAwMDAwMDAwMDcK"));  // base64 of the number
  EXPECT_TRUE(read(request + "repeat = \"yes\"\n").value().variants.empty());
  EXPECT_FALSE(read(request + "repeat = \"maybe\"\n").ok());
}

TEST_F(RequestFiles, PicturesWithoutAPlaceForCommentsHaveVariantsToo) {
  using namespace std::string_view_literals;
  for (const std::string_view begin :
       {"BM\x4c\x07\0\0\0\0\0\0\x36"sv, "RIFF\x24\0\0\0WEBPVP8L"sv, "P6\n60 40\n255\n"sv,
        "P5\n60 40\n255\n"sv, "\0\0\0\x0cjP  \r\n\x87\n"sv}) {
    ASSERT_TRUE(write_file(folder_ + "/a.png", std::string(begin)).ok());
    EXPECT_EQ(read_request(folder_ + "/a.png").value().variants.size(), 1U) << begin;
  }
  for (const std::string_view other : {"BMW is no picture"sv, "RIFF\x24\0\0\0WAVEfmt "sv, "P6"sv}) {
    ASSERT_TRUE(write_file(folder_ + "/a.png", std::string(other)).ok());
    EXPECT_TRUE(read_request(folder_ + "/a.png").value().variants.empty()) << other;
  }
}

TEST_F(RequestFiles, NameFileLineKeyAndTheWayOut) {
  const auto said = [&](const std::string& text) {
    const auto request = read(text);
    return request ? std::string("fine") : request.error().what;
  };
  EXPECT_THAT(
      said("file = \"a.png\"\njson = '{\"file\": \"{base46}\"}'\n"),
      HasSubstr("a.request.toml:2: json: unknown placeholder {base46}; there are {base64}"));
  EXPECT_THAT(said("file = \"a.png\"\njson = '{\"file\": {base64}}'\n"),
              HasSubstr(":2: json: with its placeholders filled"));
  EXPECT_THAT(said("json = '{}'\n"), HasSubstr("file: is missing: write file = \"page.png\""));
  EXPECT_THAT(said("file = \"a.png\"\n"), HasSubstr("needs either this or form"));
  EXPECT_THAT(said("file = \"a.png\"\njson = '{}'\nanswr = []\n"),
              AllOf(HasSubstr(":3: answr: "), HasSubstr(" answer?")));
  EXPECT_THAT(said("file = \"b.png\"\njson = '{}'\n"), HasSubstr("b.png"));
}

TEST(AnswerFault, AGoodAnswerHoldsWhatIsWanted) {
  const std::string good = R"({"errorCode":0,"result":{"ocrResults":[{"text":"a"}]},"empty":[]})";
  EXPECT_EQ(
      answer_fault({"errorCode=0", "result.ocrResults.0.text", "result.ocrResults.0.text=a"}, good),
      "");
  EXPECT_EQ(answer_fault({}, "anything"), "");
  for (const char* wanted : {"errorCode=500", "result.lines", "result.ocrResults.1", "empty",
                             "errorCode.x", "result.ocrResults.text"}) {
    EXPECT_THAT(answer_fault({wanted}, good), HasSubstr("lacks")) << wanted;
  }
  EXPECT_THAT(answer_fault({"errorCode=0"}, "<html>busy"), HasSubstr("is not JSON: <html>busy"));
  EXPECT_THAT(answer_fault({"ok"}, R"({"ok": false})"), HasSubstr("lacks ok"));
}

TEST_F(RequestFiles, AJobSaysHowItIsFollowed) {
  const auto body = read(R"(file = "a.png"
json = '{"file": "{base64}"}'
submit = "task.id"
poll = "/status/{job}"
done = ["state=success", "state=partial"]
result = "/result/{job}?full=1"
poll_every = "250ms"
)");
  ASSERT_TRUE(body.ok()) << body.error().what;
  ASSERT_TRUE(body->job);
  EXPECT_EQ(body->job->poll_seconds, 0.25);
  EXPECT_EQ(job_id(*body->job, R"({"task": {"id": 12}})").value(), "12");
  EXPECT_FALSE(job_id(*body->job, R"({"task": {}})").ok());
  EXPECT_EQ(job_state(*body->job, R"({"state": "partial"})"), JobState::done);
  EXPECT_EQ(job_state(*body->job, R"({"state": "pending"})"), JobState::queued);
  EXPECT_EQ(job_url(body->job->result, "12", "http://box:9/async"),
            "http://box:9/result/12?full=1");
  EXPECT_FALSE(read("file = \"a.png\"\njson = '{}'\n")->job);
}

TEST_F(RequestFiles, AJobThatCannotBeFollowedIsRefused) {
  const std::string begin = "file = \"a.png\"\njson = '{}'\n";
  for (const auto& [text, key] :
       {std::pair{"submit = \"id\"\ndone = [\"a=b\"]\n", "poll"},
        std::pair{"submit = \"id\"\npoll = \"/x\"\ndone = [\"a=b\"]\n", "poll"},
        std::pair{"submit = \"id\"\npoll = \"/{job}\"\n", "done"},
        std::pair{"poll = \"/{job}\"\ndone = [\"a=b\"]\n", "submit"},
        std::pair{"submit = \"id\"\npoll = \"/{job}\"\ndone = [\"a\"]\npoll_every = \"soon\"\n",
                  "poll_every"}}) {
    const auto body = read(begin + text);
    ASSERT_FALSE(body.ok()) << text;
    EXPECT_THAT(body.error().what, HasSubstr(key)) << text;
  }
}

}  // namespace
}  // namespace ocrtune
