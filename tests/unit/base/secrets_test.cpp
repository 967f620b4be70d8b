#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name :
       {"HF_TOKEN", "--api-key", "AWS_SECRET_ACCESS_KEY", "dbPassword", "PGPASSWORD", "apikey",
        "GITHUB_TOKEN", "MYSQL_PASSWD", "Global.wandb_key", "GOOGLE_CREDENTIALS", "authtoken",
        "DB_PASS", "MYSQL_PWD", "AUTH_HEADER", "SENTRY_DSN", "GITHUB_PAT", "--cookie"}) {
    EXPECT_TRUE(looks_secret(name)) << name;
  }
  for (const char* name :
       {"", "PATH", "MONKEY", "--tokenizer", "max_tokens", "--key-file", "Train.dataset.keep_keys",
        "PASSES", "OMP_NUM_THREADS", "PWD", "OLDPWD", "SSH_KEY_PATH", "SSH_AUTH_SOCK",
        "--auth-type", "--pat", "--bypass", "author", "compass"}) {
    EXPECT_FALSE(looks_secret(name)) << name;
  }
}

TEST(Secrets, AreMaskedInText) {
  EXPECT_EQ(masked_text("HF_TOKEN=hf_abc123 python t.py"), "HF_TOKEN=*** python t.py");
  EXPECT_EQ(masked_text("train --api-key abc --batch 4"), "train --api-key *** --batch 4");
  EXPECT_EQ(masked_text("{'API_KEY': 'abc', 'x': 1}"), "{'API_KEY': '***', 'x': 1}");
  EXPECT_EQ(masked_text("{\"password\":\"abc\"}"), "{\"password\":\"***\"}");
  EXPECT_EQ(masked_text("http://me:abc@host:80/x and http://host:80/a@b"),
            "http://me:***@host:80/x and http://host:80/a@b");
  EXPECT_EQ(masked_text("HF_TOKEN=\"$HF_TOKEN\" x"), "HF_TOKEN=\"$HF_TOKEN\" x");
  EXPECT_EQ(masked_text("KeyError: missing key: label"), "KeyError: missing key: label");
  EXPECT_EQ(masked_text("--max_token=25 loss: 0.5"), "--max_token=25 loss: 0.5");
  EXPECT_EQ(masked_text("--password=1234"), "--password=***");
}

TEST(Secrets, AreKnownByTheirShape) {
  for (const char* key :
       {"sk-proj-Ab12Cd34Ef56Gh78Ij90", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        "ghp_0123456789abcdefABCDEF0123456789abcd", "AKIAIOSFODNN7EXAMPLE",
        "sk-0123456789abcdef0123456789abcdef", "LTAI5tAbCdEfGhIjKlMnOpQr",
        "AKIDAbCdEfGh0123456789IjKlMnOpQrStUv",
        "nvapi-Ab12Cd34Ef56Gh78Ij90_Ab12Cd34Ef56Gh78Ij90-Ab12Cd34Ef56",
        "npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w"}) {
    EXPECT_EQ(masked_text(std::string("serve ") + key + " --batch 4"), "serve *** --batch 4");
    EXPECT_THAT(masked_arguments({"serve", key}), ElementsAre("serve", "***"));
  }
  for (const char* path : {"/data/hf_cache_2024_of_the_whole_team_in_one/x",
                           "sk-learn-crnn-v12-large", "AKIA", "eyJ.txt", "ghp_notes_2024.txt"}) {
    EXPECT_EQ(masked_text(path), path);
  }
}

TEST(Secrets, AnAddressThatIsSignedIsOne) {
  EXPECT_EQ(masked_text("t --data 'https://a.blob.core.windows.net/c?sv=2024&sig=aB%2Fc%3D&se=9'"),
            "t --data 'https://a.blob.core.windows.net/c?sv=2024&sig=***&se=9'");
  EXPECT_THAT(masked_arguments({"get", "https://s3/x?X-Amz-Signature=0123456789abcdef"}),
              ElementsAre("get", "https://s3/x?X-Amz-Signature=***"));
  EXPECT_TRUE(holds_mask("https://s3/x?X-Amz-Signature=***"));
  EXPECT_EQ(masked_text("kill --sig TERM sig=TERM"), "kill --sig TERM sig=TERM");
}

TEST(Secrets, AreMaskedInHeaders) {
  EXPECT_THAT(masked_arguments({"ab", "--hdr", "Authorization: Bearer sk-short", "-H",
                                "X-Api-Key: a b c", "-H", "Accept: text/html"}),
              ElementsAre("ab", "--hdr", "Authorization: ***", "-H", "X-Api-Key: ***", "-H",
                          "Accept: text/html"));
  EXPECT_EQ(masked_text("curl -H 'Authorization: Basic dXNlcjpwdw==' http://h/"),
            "curl -H 'Authorization: ***' http://h/");
  EXPECT_EQ(masked_text("sent Bearer abcdefgh1234 to h"), "sent Bearer *** to h");
  EXPECT_EQ(masked_text("a bearer of news"), "a bearer of news");
  EXPECT_EQ(masked_text("KeyError: missing auth: label"), "KeyError: missing auth: label");
  EXPECT_EQ(masked_text("DB_PASS=hunter2 MYSQL_PWD=x1y2 TWO_PASS=1 t"),
            "DB_PASS=*** MYSQL_PWD=*** TWO_PASS=1 t");
  const std::string once = masked_text("-H 'Authorization: Bearer abcdefgh1234'");
  EXPECT_EQ(masked_text(once), once);
}

TEST(Secrets, AreMaskedInArguments) {
  EXPECT_THAT(masked_arguments({"t", "--api-key=a b", "--token", "abc", "-o", "K.password=x=y",
                                "--secret", "--batch", "4", "--password", "{dim}"}),
              ElementsAre("t", "--api-key=***", "--token", "***", "-o", "K.password=***",
                          "--secret", "--batch", "4", "--password", "{dim}"));
  const std::vector<std::string> once = masked_arguments({"--token", "abc", "sh", "-c", "A_KEY=b"});
  EXPECT_EQ(masked_arguments(once), once);
}

TEST(Secrets, AScriptIsKeptBehindItsSecret) {
  const auto masked = [](const std::string& script) {
    return masked_arguments({"bash", "-c", script}).back();
  };
  const std::string handed_on = "WANDB_API_KEY=$WANDB_API_KEY python3 any.py --lr 3 && echo done";
  EXPECT_EQ(masked(handed_on), handed_on);
  EXPECT_EQ(masked("API_KEY=abc python3 any.py"), "API_KEY=*** python3 any.py");
  EXPECT_EQ(masked("API_KEY='a b' python3 any.py"), "API_KEY='***' python3 any.py");
  EXPECT_EQ(masked("API_KEY=\"a b\"\npython3 any.py"), "API_KEY=\"***\"\npython3 any.py");
  EXPECT_EQ(masked("x=1 API_KEY='a b' python3 any.py"), "x=1 API_KEY='***' python3 any.py");
  EXPECT_EQ(masked("API_KEY=abc"), "API_KEY=***");
  EXPECT_EQ(masked("API_KEY=$API_KEY"), "API_KEY=$API_KEY");
  EXPECT_TRUE(holds_mask(masked("API_KEY='a b' python3 any.py")));
}

// No script: a blank belongs to the value, and what begins with "$" may be a password.
TEST(Secrets, AnArgumentIsMaskedWhole) {
  for (const char* argument : {"API_TOKEN=two words here", "db_password=correct horse",
                               "DB_PASSWORD=$ecret99 xyz", "DB_PASSWORD=$a-b"}) {
    const std::string name(argument, std::string_view(argument).find('='));
    EXPECT_EQ(masked_arguments({"env", argument, "python3"})[1], name + "=***");
  }
  EXPECT_EQ(masked_arguments({"env", "API_TOKEN=$API_TOKEN"})[1], "API_TOKEN=$API_TOKEN");
}

TEST(Secrets, AMaskIsKnownByWhereItStands) {
  for (const char* text : {"***", "--api-key=***", "postgres://u:***@h/db",
                           "cd x && HF_TOKEN=*** python t.py", "*** begin *** API_TOKEN=***"}) {
    EXPECT_TRUE(holds_mask(text)) << text;
  }
  for (const char* text : {"", "echo '*** begin ***'", "a***b", "--lr=0.1"}) {
    EXPECT_FALSE(holds_mask(text)) << text;
  }
}

TEST(Secrets, AreTakenOutByTheirValues) {
  const auto values = secret_values({{"HF_TOKEN", "hf_abc"}, {"A_KEY", "abc"}, {"HOME", "/root"}});
  EXPECT_THAT(values, ElementsAre("hf_abc"));
  EXPECT_EQ(without_secrets("got hf_abc, hf_abc in /root", values), "got ***, *** in /root");
}

}  // namespace
}  // namespace ocrtune
