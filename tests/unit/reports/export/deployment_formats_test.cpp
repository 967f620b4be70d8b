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

}  // namespace
}  // namespace ocrtune
