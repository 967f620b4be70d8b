// What can be known of P2P without running anything: IOMMU, ACS, NCCL settings, link speeds.
#include "probes/p2p/p2p_static.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "probes/gpu/link_speed.h"

namespace ocrtune {
namespace {

class P2pStatic : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("p2p_static"); }
  void TearDown() override { (void)remove_tree(folder_); }
  void put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories(parent_path(folder_ + path)));
    ASSERT_TRUE(write_file(folder_ + path, text));
  }
  FileRoot root() const { return FileRoot(folder_); }
  std::string folder_;
};

TEST_F(P2pStatic, IommuModes) {
  EXPECT_EQ(read_iommu_translates(root()), Tri::unknown);
  ASSERT_TRUE(make_directories(folder_ + "/sys/kernel/iommu_groups"));
  EXPECT_EQ(read_iommu_translates(root()), Tri::no);  // no IOMMU in use
  put("/sys/kernel/iommu_groups/0/type", "identity\n");
  EXPECT_EQ(read_iommu_translates(root()), Tri::no);
  put("/sys/kernel/iommu_groups/1/type", "DMA-FQ\n");
  EXPECT_EQ(read_iommu_translates(root()), Tri::yes);
}

// A bridge's configuration space with an ACS capability whose control register is `control`.
std::string bridge_config(unsigned char control) {
  std::string bytes(4096, '\0');
  bytes[0x100] = 0x01;  // advanced error reporting first,
  bytes[0x102] = 0x01;
  bytes[0x103] = 0x14;  // next at 0x140:
  bytes[0x140] = 0x0D;  // access control
  bytes[0x142] = 0x01;
  bytes[0x146] = static_cast<char>(control);
  return bytes;
}

TEST_F(P2pStatic, AcsOfBridges) {
  EXPECT_EQ(read_acs_redirects(root()), Tri::unknown);
  put("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n");
  put("/sys/bus/pci/devices/0000:00:01.0/config", bridge_config(0x00));
  put("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n");
  EXPECT_EQ(read_acs_redirects(root()), Tri::no);
  put("/sys/bus/pci/devices/0000:00:02.0/class", "0x060400\n");
  put("/sys/bus/pci/devices/0000:00:02.0/config", std::string(64, '\0'));  // not root
  EXPECT_EQ(read_acs_redirects(root()), Tri::unknown);
  put("/sys/bus/pci/devices/0000:00:03.0/class", "0x060400\n");
  put("/sys/bus/pci/devices/0000:00:03.0/config", bridge_config(0x1D));
  EXPECT_EQ(read_acs_redirects(root()), Tri::yes);
}

TEST_F(P2pStatic, ACircleOfCapabilitiesEnds) {
  std::string config(4096, '\0');
  config[0x100] = 0x01;
  config[0x102] = 0x01;
  config[0x103] = 0x10;  // next: itself
  put("/sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n");
  put("/sys/bus/pci/devices/0000:00:01.0/config", config);
  EXPECT_EQ(read_acs_redirects(root()), Tri::no);
}

TEST_F(P2pStatic, NcclSettingsInTheOrderThatNcclTakes) {
  put("/etc/nccl.conf", "# site\nNCCL_P2P_DISABLE=1\nNCCL_SOCKET_IFNAME = eth0 # wired\nnoise\n");
  put("/home/a/.nccl.conf", "NCCL_SOCKET_IFNAME=ib0\nPATH=/bin\n");
  const Environment plain = read_nccl_settings(root(), {{"HOME", "/home/a"}});
  EXPECT_EQ(plain, (Environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SOCKET_IFNAME", "ib0"}}));
  Environment files;
  const Environment own =
      read_nccl_settings(root(), {{"HOME", "/home/a"}, {"NCCL_P2P_DISABLE", "0"}}, &files);
  EXPECT_EQ(files, (Environment{{"NCCL_SOCKET_IFNAME", "/home/a/.nccl.conf"}}));
  EXPECT_EQ(own.at("NCCL_P2P_DISABLE"), "0");
  const Environment named =
      read_nccl_settings(root(), {{"HOME", "/home/a"}, {"NCCL_CONF_FILE", "/none"}});
  EXPECT_EQ(named.at("NCCL_SOCKET_IFNAME"), "eth0");
}

TEST(LinkSpeed, FollowsTheModel) {
  EXPECT_DOUBLE_EQ(pcie_bytes_per_second(3, 16), 12e9);
  EXPECT_DOUBLE_EQ(pcie_bytes_per_second(4, 16), 24e9);
  EXPECT_DOUBLE_EQ(pcie_bytes_per_second(5, 8), 24e9);
  EXPECT_EQ(pcie_bytes_per_second(0, 16), 0);
  EXPECT_EQ(pcie_bytes_per_second(7, 16), 0);
  EXPECT_EQ(pcie_bytes_per_second(4, 0), 0);
  EXPECT_NEAR(nvlink_bytes_per_second("9.0", 18), 371e9, 1e9);
  EXPECT_NEAR(nvlink_bytes_per_second("8.0", 12), 240e9, 1e9);
  EXPECT_NEAR(nvlink_bytes_per_second("8.6", 4), 48e9, 1e9);
  EXPECT_NEAR(nvlink_bytes_per_second("10.0", 18), 722e9, 1e9);
  EXPECT_EQ(nvlink_bytes_per_second("", 18), 0);
  EXPECT_EQ(nvlink_bytes_per_second("x", 18), 0);
  EXPECT_EQ(nvlink_bytes_per_second("9.0", 0), 0);
  GpuFacts wide;
  wide.pcie_generation_most = 4;
  wide.pcie_width_most = 16;
  GpuFacts narrow = wide;
  narrow.pcie_width_most = 4;
  EXPECT_DOUBLE_EQ(expected_link_bytes_per_second(wide, narrow, false), 6e9);
}

TEST(LinkSpeed, ProcessorsBoundWhatGoesThroughThem) {
  const CpuMaker amd{"AuthenticAMD", 25, 1}, skylake{"GenuineIntel", 6, 0x55};
  const CpuMaker sapphire{"GenuineIntel", 6, 0x8F}, unknown{"", 0, 0};
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, amd, "PHB"), 24e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, amd, "SYS"), 16e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, skylake, "PXB"), 24e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, skylake, "PHB"), 20e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, skylake, "SYS"), 10e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(48e9, sapphire, "SYS"), 22e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(24e9, unknown, "SYS"), 24e9);
  EXPECT_DOUBLE_EQ(bounded_by_cpu(371e9, amd, "NVL"), 371e9);
}

TEST_F(P2pStatic, TheProcessorIsReadFromItsOwnWords) {
  put("/proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n\n"
      "processor\t: 1\nvendor_id\t: other\n");
  Machine machine;
  GpuFacts gpu;
  gpu.pcie_generation_most = 4;
  gpu.pcie_width_most = 16;
  machine.gpus = {gpu, gpu};
  machine.gpus[1].index = 1;
  GpuLink link;
  link.to = 1;
  link.level = "SYS";
  machine.gpu_links = {link};
  EXPECT_DOUBLE_EQ(static_p2p_facts(machine, root(), {}).pairs[0].expected_bytes_per_second, 10e9);
}

}  // namespace
}  // namespace ocrtune
