// Exported files, read by those who will read them: shells, YAML parsers, systemd.
#include "reports/export/deployment.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "reports/export/junit.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kGiB = 1ULL << 30;

// What no format may break.
Deployment odd_deployment() {
  Deployment deployment;
  deployment.run_id = "2026-11-22-abcde";
  deployment.setting = "nproc=2 threads=1";
  deployment.launch.arguments = {"/bin/sh",
                                 "-c",
                                 "echo \"$HOME\" 'a b' 100% \\ #x",
                                 "",
                                 "-o",
                                 "Train.loader.batch_size_per_card=32",
                                 "Global.use_gpu=False",
                                 "Global.name=a: b"};
  deployment.launch.environment = {{"OMP_NUM_THREADS", "2"},
                                   {"ODD", "a 'b' \"c\" $d 100% \\ # x"},
                                   {"BAD-NAME", "1"},
                                   {"MY_TOKEN", "<MY_TOKEN>"}};
  deployment.launch.directory = "/";
  deployment.pinned = {{"OCRTUNE_RANK_CPUS", "0-1:2-3"}};
  deployment.cpus = 2;
  deployment.memory_bytes = 3 * kGiB / 2;
  deployment.gpus = 1;
  deployment.summary = "# Run\n";
  return deployment;
}

std::string written(const char* format, const Deployment& deployment = odd_deployment()) {
  return find_export_format(format)->write(deployment);
}

class DeploymentFiles : public testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("deployment"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }

  int shell(const std::string& script) {
    ProcessOptions options;
    options.arguments = {"bash", "-c", script};
    options.directory = folder_;
    Process process = std::move(Process::start(options)).value();
    const auto& exit = process.wait(60);
    output_ = process.output().contents();
    return exit ? exit->code : -1;
  }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(join_path(folder_, name), text));
  }

  std::string folder_, output_;
};

TEST_F(DeploymentFiles, EnvGivesAShellTheValuesToTheLetter) {
  write("x.env", written("env"));
  EXPECT_EQ(shell("set -eu; . ./x.env; printf '%s|%s|%s' \"$OMP_NUM_THREADS\" \"$ODD\" "
                  "\"$OCRTUNE_RANK_CPUS\""),
            0)
      << output_;
  EXPECT_EQ(output_, "2|a 'b' \"c\" $d 100% \\ # x|0-1:2-3");
}

TEST_F(DeploymentFiles, DockerEnvKeepsValuesAsTheyAre) {
  EXPECT_THAT(written("docker-env"), HasSubstr("\nODD=a 'b' \"c\" $d 100% \\ # x\n"));
  EXPECT_THAT(written("docker-env"), Not(HasSubstr("BAD-NAME")));
}

TEST_F(DeploymentFiles, SbatchIsAScriptThatRunsTheCommand) {
  const std::string text = written("sbatch");
  write("job", text);
  EXPECT_EQ(shell("bash -n job"), 0) << output_;
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --mem=1536M\n"));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --cpus-per-task=2\n"));
  EXPECT_EQ(shell("HOME=/h bash job"), 0) << output_;
  EXPECT_EQ(output_, "/h a b 100%  #x\n");
  EXPECT_THAT(text, Not(HasSubstr("\nexport OCRTUNE_RANK_CPUS")));
}

TEST_F(DeploymentFiles, SbatchOfSeveralHostsTellsEachItsNumber) {
  Deployment deployment = odd_deployment();
  deployment.nodes = 2;
  deployment.launch.arguments = {"printf", "%s\n", "it's --rank=<NODE_RANK>", "<MASTER_ADDR>:29500",
                                 "<HOSTLIST>"};
  deployment.launch.environment = {{"OMP_NUM_THREADS", "2"}};
  const std::string text = written("sbatch", deployment);
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"));
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --gpus-per-node=1\n"));
  write("job", text);
  // Stand-ins: two nodes, and the task of the second one.
  write("scontrol", "#!/bin/sh\nprintf 'n1\\nn2\\n'\n");
  write("srun",
        "#!/bin/sh\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done\n"
        "SLURM_NODEID=1 exec \"$@\"\n");
  EXPECT_EQ(shell("chmod +x srun scontrol; SLURM_JOB_NODELIST=n[1-2] PATH=$PWD:$PATH bash job"), 0)
      << output_;
  EXPECT_EQ(output_, "it's --rank=1\nn1:29500\nn1,n2\n");
}

// Since Slurm 22.05 srun does not inherit --cpus-per-task: a step gets one core where Slurm binds.
TEST_F(DeploymentFiles, SbatchGivesItsStepsTheCpus) {
  Deployment deployment = odd_deployment();
  deployment.cpus = 20;
  EXPECT_THAT(written("sbatch", deployment), HasSubstr("\nexport SRUN_CPUS_PER_TASK=20\n"));
  EXPECT_THAT(written("sbatch", deployment), Not(HasSubstr("--hint")));
  deployment.nodes = 2;
  deployment.launch.arguments = {"run", "--rank=<NODE_RANK>"};
  deployment.whole_cores = true;
  const std::string text = written("sbatch", deployment);
  EXPECT_THAT(text, HasSubstr("\n#SBATCH --hint=nomultithread\n"));
  EXPECT_THAT(text, HasSubstr("--cpus-per-task=20 --hint=nomultithread sh -c "));
  EXPECT_THAT(text, Not(HasSubstr("SRUN_CPUS_PER_TASK")));
  deployment.launch.arguments = {"mpirun", "--host", "<HOSTLIST>", "run"};
  EXPECT_THAT(written("sbatch", deployment), HasSubstr("\nexport SRUN_CPUS_PER_TASK=20\n"));
}

TEST_F(DeploymentFiles, EnginesAreAskedForWhatNumactlNeeds) {
  Deployment deployment = odd_deployment();
  for (const char* format : {"compose", "k8s", "docker-env"}) {
    EXPECT_THAT(written(format, deployment), Not(HasSubstr("SYS_NICE"))) << format;
  }
  deployment.memory_policy = true;
  deployment.memory_bytes = 1;
  for (const char* format : {"compose", "k8s", "docker-env"}) {
    EXPECT_THAT(written(format, deployment), HasSubstr("SYS_NICE")) << format;
  }
  const YAML::Node service = YAML::Load(written("compose", deployment))["services"]["ocr"];
  EXPECT_EQ(service["cap_add"][0].as<std::string>(), "SYS_NICE");
  EXPECT_EQ(service["mem_limit"].as<std::string>(), "6m");  // Docker takes no less
  EXPECT_THAT(written("compose", deployment), HasSubstr("Delegate=cpu cpuset"));
  const YAML::Node pod = YAML::Load(written("k8s", deployment))["spec"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][0]["securityContext"]["capabilities"]["add"][0].as<std::string>(),
            "SYS_NICE");
}

TEST_F(DeploymentFiles, HostsGetOneSshEachWithTheirNumbers) {
  Deployment deployment = odd_deployment();
  deployment.nodes = 2;
  deployment.hosts = {"me@n1", "n2"};
  deployment.launch.directory = "/";
  deployment.launch.arguments = {"sh", "-c",
                                 "echo \"it's <NODE_RANK> $A <MASTER_ADDR> <HOSTLIST>\""};
  deployment.launch.environment = {{"A", "b c"}};
  write("job", written("hosts", deployment));
  write("ssh", "#!/bin/sh\nshift; host=$1; shift; sh -c \"$*\" > $host; [ $host = me@n1 ]\n");
  EXPECT_EQ(shell("chmod +x ssh; PATH=$PWD:$PATH sh job; echo $?; cat me@n1 n2"), 0) << output_;
  EXPECT_EQ(output_, "1\nit's 0 b c n1 n1,n2\nit's 1 b c n1 n1,n2\n");
}

TEST_F(DeploymentFiles, AHostfileNamesHostsAndTheirProcesses) {
  Deployment deployment = odd_deployment();
  deployment.nodes = deployment.ranks = 2;
  deployment.hosts = {"me@n1", "n2"};
  EXPECT_THAT(written("hostfile", deployment), HasSubstr("\nn1 slots=2\nn2 slots=2\n"));
}

TEST_F(DeploymentFiles, ComposeIsYamlWithEveryArgument) {
  const YAML::Node service = YAML::Load(written("compose"))["services"]["ocr"];
  EXPECT_EQ(service["command"].size(), 8U);
  EXPECT_EQ(service["command"][2].as<std::string>(), "echo \"$$HOME\" 'a b' 100% \\ #x");
  EXPECT_EQ(service["environment"]["ODD"].as<std::string>(), "a 'b' \"c\" $$d 100% \\ # x");
  EXPECT_EQ(service["cpus"].as<int>(), 2);
  EXPECT_EQ(service["mem_limit"].as<std::string>(), "1536m");
  EXPECT_EQ(service["shm_size"].as<std::string>(), "1536m");
  EXPECT_EQ(service["deploy"]["resources"]["reservations"]["devices"][0]["count"].as<int>(), 1);
}

TEST_F(DeploymentFiles, KubernetesJobIsYamlWithLimits) {
  const YAML::Node job = YAML::Load(written("k8s"));
  EXPECT_EQ(job["kind"].as<std::string>(), "Job");
  const YAML::Node container = job["spec"]["template"]["spec"]["containers"][0];
  EXPECT_EQ(container["command"].size(), 8U);
  EXPECT_EQ(container["command"][3].as<std::string>(), "");
  EXPECT_EQ(container["resources"]["limits"]["memory"].as<std::string>(), "1536Mi");
  EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"].as<std::string>(), "1");
  EXPECT_EQ(container["env"][1]["value"].as<std::string>(), "a 'b' \"c\" $$d 100% \\ # x");
}

TEST_F(DeploymentFiles, SystemdTakesTheUnit) {
  if (shell("systemd-analyze --version") != 0) GTEST_SKIP() << "no systemd-analyze";
  std::string text = written("systemd");
  EXPECT_THAT(text, HasSubstr("\nMemoryMax=1536M\n"));
  EXPECT_THAT(text, HasSubstr("\nCPUQuota=200%\n"));
  text.replace(text.find("<USER>"), 6, "root");
  write("ocr.service", text);
  EXPECT_EQ(shell("systemd-analyze verify --man=no ./ocr.service 2>&1 | grep ocr.service"), 1)
      << output_;
}

TEST_F(DeploymentFiles, PaddleOcrKeysAreNested) {
  const YAML::Node keys = YAML::Load(written("paddleocr-yaml"));
  EXPECT_EQ(keys["Train"]["loader"]["batch_size_per_card"].as<int>(), 32);
  EXPECT_FALSE(keys["Global"]["use_gpu"].as<bool>());
  EXPECT_EQ(keys["Global"]["name"].as<std::string>(), "a: b");
  Deployment none = odd_deployment();
  none.launch.arguments = {"python3", "train.py", "a=b"};
  EXPECT_EQ(YAML::Load(written("paddleocr-yaml", none)).size(), 0U);
}

TEST_F(DeploymentFiles, PlaceholdersAreCounted) {
  EXPECT_THAT(placeholders_of(written("k8s")), ElementsAre("<IMAGE>", "<MY_TOKEN>", "<CLAIM>"));
  EXPECT_THAT(placeholders_of("a <b> < C> <> <D_1> <D_1> <"), ElementsAre("<D_1>"));
}

TEST_F(DeploymentFiles, SampleRunGoesIntoEveryFormat) {
  RunRecord run = sample_run();
  const auto deployment = deployment_of(run);
  ASSERT_TRUE(deployment) << deployment.error().what;
  // The engine's memory is no limit for the program that stands for it.
  EXPECT_EQ(deployment->memory_bytes, 0U);
  EXPECT_THAT(written("compose", *deployment), Not(HasSubstr("mem_limit")));
  EXPECT_THAT(written("compose", *deployment), HasSubstr("# Not measured: "));
  EXPECT_THAT(deployment->launch.arguments, Contains("<CONFIG>"));
  EXPECT_THAT(written("markdown", *deployment), HasSubstr("| recommended | "));
  const auto none = deployment_of(run_without_success());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::missing);
}

TEST_F(DeploymentFiles, OwnCommandHasItsPeakAndTheMargin) {
  RunRecord run = sample_run();
  run.job = command_job({"/bin/sh", "-c", "true", "{batch}", "--api-key", "abcdef"});
  Safety& safety = run.result.verdict.safety;
  safety.margin = 0.5;
  safety.resources[0].possible = safety.resources[0].peak + (1 << 20);
  safety.resources[0].limit *= 2;
  const auto deployment = deployment_of(run);
  ASSERT_TRUE(deployment) << deployment.error().what;
  EXPECT_EQ(deployment->memory_bytes, safety.resources[0].possible * 3 / 2)
      << "above what may have been held between two readings";
  safety.resources[0].peak = safety.resources[0].possible = 59 << 20;
  EXPECT_EQ(deployment_of(run)->memory_bytes, (59 + 256) << 20) << "a floor for small programs";
  EXPECT_THAT(deployment->launch.arguments, Contains("true"));
  EXPECT_THAT(deployment->launch.arguments, Contains("<SECRET>"));
  EXPECT_THAT(deployment->launch.arguments, Not(Contains("abcdef")));
  EXPECT_EQ(deployment->caution, "");
}

TEST_F(DeploymentFiles, HostsOfARunAreThoseThatItRecommends) {
  RunRecord run = sample_run();
  run.job = hosts_job({"me@n1", "n2", "n3"}, "mpirun");
  run.job.user()->command.command = {"/bin/sh", "train", "{nodes}", "{node_rank}"};
  EXPECT_EQ(run_on_hosts_line(run), "");
  run.result.recommendation.knobs.dims["nodes"] = "2";
  EXPECT_EQ(run_on_hosts_line(run),
            "ocrtune run --from " + run.id + " --hosts me@n1,n2 --launcher mpirun");
  EXPECT_THAT(deployment_of(run)->hosts, ElementsAre("me@n1", "n2"));
}

RunRecord service_run() {
  RunRecord run = sample_run();
  run.job = service_job("http://127.0.0.1:{port}/ocr?lang=en",
                        {"/bin/sh", "serve.sh", "--port", "{port}"});
  return run;
}

TEST_F(DeploymentFiles, AServerIsADeploymentWithItsService) {
  auto deployment = deployment_of(service_run());
  ASSERT_TRUE(deployment) << deployment.error().what;
  const auto objects = YAML::LoadAll(written("k8s", *deployment));
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["kind"].as<std::string>(), "Deployment");
  const YAML::Node pod = objects[0]["spec"]["template"];
  const YAML::Node container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["ports"][0]["containerPort"].as<std::string>(), "<PORT>");
  EXPECT_EQ(container["readinessProbe"]["httpGet"]["path"].as<std::string>(), "/ocr");
  EXPECT_EQ(container["command"][3].as<std::string>(), "<PORT>");
  EXPECT_FALSE(pod["spec"]["restartPolicy"]);
  EXPECT_EQ(pod["metadata"]["labels"]["app"].as<std::string>(),
            objects[1]["spec"]["selector"]["app"].as<std::string>());
  EXPECT_EQ(objects[1]["kind"].as<std::string>(), "Service");
  EXPECT_THAT(written("k8s", *deployment), Not(HasSubstr("29500")));
  EXPECT_THAT(written("k8s", *deployment), Not(HasSubstr("OCRTUNE_")));
  EXPECT_THAT(written("k8s", *deployment), HasSubstr(deployment->measured));
}

TEST_F(DeploymentFiles, APostPathIsNoReadinessProbe) {
  RunRecord run = service_run();
  run.job.inference()->inputs = {"page.png"};
  const auto objects = YAML::LoadAll(written("k8s", *deployment_of(run)));
  const YAML::Node container = objects[0]["spec"]["template"]["spec"]["containers"][0];
  EXPECT_FALSE(container["readinessProbe"]["httpGet"]);
  EXPECT_EQ(container["readinessProbe"]["tcpSocket"]["port"].as<std::string>(), "<PORT>");
}

TEST_F(DeploymentFiles, CopiesOfAServerHavePortsOfTheirOwn) {
  RunRecord run = service_run();
  run.job =
      service_job("http://127.0.0.1:808{copy}/", {"/bin/sh", "serve.sh", "--port", "808{copy}"});
  run.result.recommendation.knobs.nproc = 11;
  const auto deployment = deployment_of(run);
  ASSERT_TRUE(deployment) << deployment.error().what;
  ASSERT_EQ(deployment->service->ports.size(), 11U);
  EXPECT_EQ(deployment->service->ports[0], "8080");
  EXPECT_EQ(deployment->service->ports[10], "8090");
  const YAML::Node service = YAML::Load(written("compose", *deployment))["services"]["ocr"];
  EXPECT_EQ(service["ports"][10].as<std::string>(), "8090:8090");
  EXPECT_EQ(service["restart"].as<std::string>(), "unless-stopped");
  EXPECT_THAT(written("systemd", *deployment), HasSubstr("\nRestart=on-failure\n"));
}

TEST_F(DeploymentFiles, APlanGivesTheReplicas) {
  auto deployment = deployment_of(service_run());
  ASSERT_TRUE(deployment);
  EXPECT_EQ(take_plan("[]", *deployment).error().kind, ErrorKind::invalid);
  EXPECT_EQ(take_plan(R"({"machines": null})", *deployment).error().kind, ErrorKind::invalid);
  const std::string enough = R"("machines": {"median": 4, "low": 4, "high": 5})";
  const auto replicas = [&](const std::string& more) {
    EXPECT_TRUE(take_plan("{" + enough + ", \"spare_machines\": 6" + more + "}", *deployment));
    return YAML::LoadAll(written("k8s", *deployment))[0]["spec"]["replicas"].as<int>();
  };
  EXPECT_EQ(replicas(""), 5) << "those that are enough";
  EXPECT_EQ(replicas(R"(, "year": {"months": [{"bought_machines": 8}, {"bought_machines": 12}]})"),
            8)
      << "those to buy now";
  auto job = deployment_of(sample_run());
  ASSERT_TRUE(job);
  EXPECT_EQ(take_plan("{}", *job).error().kind, ErrorKind::usage);
}

// Line feeds, quotes and escapes in every field stay inside their field.
TEST_F(DeploymentFiles, HostileTextBreaksNoFormat) {
  const auto deployment = deployment_of(hostile_run());
  ASSERT_TRUE(deployment) << deployment.error().what;
  for (const char* format : {"compose", "k8s", "paddleocr-yaml"}) {
    EXPECT_NO_THROW(YAML::Load(written(format, *deployment))) << format;
  }
  write("job", written("sbatch", *deployment));
  EXPECT_EQ(shell("bash -n job"), 0) << output_;
  write("x.env", written("env", *deployment));
  EXPECT_EQ(shell("bash -n x.env && set -eu && . ./x.env"), 0) << output_;
}

TEST_F(DeploymentFiles, JUnitIsXmlThatFailsUnlessOk) {
  Verification verification;
  verification.state = VerifyState::drift;
  verification.reason = "12 % slower <&>\"\x01";
  write("bad.xml", junit_text(hostile_run(), verification));
  const std::string read =
      "python3 -c \"import sys, xml.etree.ElementTree as t; s = t.parse(sys.argv[1]).find("
      "'testsuite'); print(s.get('failures'), len(s.findall('testcase/failure')))\" ";
  if (shell("python3 --version") != 0) GTEST_SKIP() << "no python3 to parse XML with";
  EXPECT_EQ(shell(read + "bad.xml"), 0) << output_;
  EXPECT_EQ(output_, "1 1\n");
  verification.state = VerifyState::ok;
  write("good.xml", junit_text(sample_run(10), verification));
  EXPECT_EQ(shell(read + "good.xml"), 0) << output_;
  EXPECT_EQ(output_, "0 0\n");
}

TEST_F(DeploymentFiles, JUnitNamesTheUnitOfTheWorkload) {
  RunRecord run = sample_run(10);
  EXPECT_THAT(junit_text(run, {}), HasSubstr(" samples/s<"));
  run.job = reading_job("p99=80ms");
  EXPECT_THAT(junit_text(run, {}), HasSubstr(" requests/s<"));
}

}  // namespace
}  // namespace ocrtune
