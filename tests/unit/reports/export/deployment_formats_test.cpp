#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/export/deployment.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(const char* format, const Deployment& deployment) {
  return find_export_format(format)->write(deployment);
}

TEST(DeploymentFormats, ComposeTakesNoFolderForAVariable) {
  Deployment deployment;
  deployment.launch.arguments = {"train"};
  deployment.launch.directory = "/home/me/$run/a";
  const std::string text = file_of("compose", deployment);
  EXPECT_THAT(text, HasSubstr("working_dir: \"/home/me/$$run/a\"\n"));
  EXPECT_THAT(text, HasSubstr("source: \"/home/me/$$run/a\", target: \"/home/me/$$run/a\"}"));
}

TEST(DeploymentFormats, AUnitNamesItsProgramFromTheRoot) {
  Deployment deployment;
  deployment.launch.arguments = {"./serve.sh", "--port", "8000"};
  deployment.launch.directory = "/srv/ocr";
  EXPECT_THAT(file_of("systemd", deployment), HasSubstr("ExecStart=\"/srv/ocr/./serve.sh\""));
}

TEST(DeploymentFormats, AUnitsFolderEndsItsLine) {
  Deployment deployment;
  deployment.launch.arguments = {"/bin/train"};
  for (const char* folder : {"/srv/50%\\", "/srv/50% "}) {
    deployment.launch.directory = folder;
    EXPECT_THAT(file_of("systemd", deployment),
                HasSubstr("\nWorkingDirectory=/srv/50%" + std::string(folder + 7) + "/\n"));
  }
}

TEST(DeploymentFormats, YamlHoldsNothingThatCannotBePrinted) {
  Deployment deployment;
  deployment.launch.arguments = {"train", "a\x7f\xc2\x85\xe2\x80\xa8z"};
  for (const char* format : {"compose", "k8s"}) {
    EXPECT_THAT(file_of(format, deployment), HasSubstr("\"a\\u007f\\u0085\\u2028z\""));
  }
}

TEST(DeploymentFormats, AConfigKeepsListsAndTexts) {
  Deployment deployment;
  deployment.launch.arguments = {"train.py",     "-o",      "T.files=['a.txt','b.txt']",
                                 "T.map={a: 1}", "T.none=", "T.text='1'",
                                 "T.word=a:b"};
  const std::string text = file_of("paddleocr-yaml", deployment);
  for (const char* line : {"files: ['a.txt','b.txt']\n", "map: {a: 1}\n", "none: null\n",
                           "text: '1'\n", "word: \"a:b\"\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(DeploymentFormats, EnvHasACommandOfSeveralLinesOnOne) {
  Deployment deployment;
  deployment.launch.arguments = {"python", "-c", "import a\na.b()"};
  EXPECT_THAT(file_of("env", deployment), HasSubstr("\n# python -c $'import a\\na.b()'\n"));
}

TEST(DeploymentFormats, VariablesThatTheRunTookFromItsEnvironmentAreToBeFilledIn) {
  RunRecord run = sample_run();
  run.job = command_job({"/bin/sh", "-c", "true", "{batch}"});
  run.job.user()->command.environment = {{"MODE", "fast"}};
  run.job.user()->command.inherited = {"MY_TOKEN", "http_proxy"};
  const auto deployment = deployment_of(run);
  ASSERT_TRUE(deployment) << deployment.error().what;
  for (const char* format : {"env", "sbatch", "k8s", "compose"}) {
    const std::string text = file_of(format, *deployment);
    EXPECT_THAT(text, HasSubstr("<MY_TOKEN>")) << format;
    EXPECT_THAT(text, HasSubstr("<HTTP_PROXY>")) << format;
    EXPECT_THAT(text, HasSubstr("fast")) << format;
  }
  EXPECT_THAT(placeholders_of(file_of("env", *deployment)),
              ElementsAre("<MY_TOKEN>", "<HTTP_PROXY>"));
}

TEST(DeploymentFormats, AFolderThatTheCommandWritesToIsMadeFirst) {
  RunRecord run = sample_run();
  run.job = command_job({"ocr", "{batch}", "{trial_dir}/out.pdf"});
  const auto deployment = deployment_of(run);
  ASSERT_TRUE(deployment) << deployment.error().what;
  EXPECT_THAT(deployment->launch.arguments,
              ElementsAre("sh", "-c", testing::StartsWith("mkdir -p"), deployment->launch.scratch,
                          "ocr", testing::_, deployment->launch.scratch + "/out.pdf"));
}

// Each format says what it cannot hold, in one line, in place of another folder or value.
TEST(DeploymentFormats, WhatAFormatCannotHoldIsRefused) {
  const auto refused = [](const char* format, const Deployment& deployment) {
    const auto fits = find_export_format(format)->fits;
    return fits != nullptr && !fits(deployment);
  };
  Deployment plain;
  plain.launch.arguments = {"train"};
  plain.launch.directory = "/srv/ocr";
  plain.launch.environment = {{"MODE", "fast"}};
  Deployment folder = plain, value = plain, word = plain, lines = plain;
  folder.launch.directory = "/srv/two\nlines";
  value.launch.environment = {{"MODE", "a\x01"}};
  word.launch.arguments = {"train", "\xff.yml"};
  lines.launch.environment = {{"MODE", "a\nb"}};
  for (const ExportFormat& format : export_formats()) EXPECT_FALSE(refused(format.name, plain));
  EXPECT_TRUE(refused("systemd", folder));
  EXPECT_TRUE(refused("systemd", value));
  EXPECT_FALSE(refused("systemd", lines)) << "quoted there";
  EXPECT_TRUE(refused("docker-env", lines));
  for (const char* format : {"systemd", "compose", "k8s"}) EXPECT_TRUE(refused(format, word));
  for (const char* format : {"env", "sbatch", "hosts"}) {
    for (const Deployment& one : {folder, value, word, lines}) EXPECT_FALSE(refused(format, one));
  }
  const Status said = find_export_format("systemd")->fits(folder);
  EXPECT_EQ(said.error().what.find('\n'), std::string::npos) << said.error().what;
}

}  // namespace
}  // namespace ocrtune
