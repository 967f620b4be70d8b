#!/usr/bin/env bash
# bench/gpu/measure to its end without a GPU: the driver is the stub's, the workers are stand-ins whose
# ranks train and read on this machine's CPUs.
#   gpu_measure.sh BUILD MINUTES [short]   # short: later steps may find no time
set -uo pipefail
build=$(realpath "$1") minutes=$2
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/build"
cat >"$folder/bin/nvidia-smi" <<'STUB'
#!/bin/sh
case "$*" in
  -L) echo "GPU 0: stand-in" ;;
  *) echo 8.9 ;;
esac
STUB
chmod +x "$folder/bin/nvidia-smi"
ln -s "$build/ocrtune" "$folder/build/ocrtune"
for program in core worker; do ln -s "$build/tests/fake_gpu_worker" "$folder/build/ocrtune-cuda-$program"; done
env PATH="$folder/bin:$PATH" OCRTUNE_NVML_PATH="$build/tests/libnvidia-ml.so.1" \
  OCRTUNE_NVML_STUB="$PWD/tests/fixtures/gpu_boxes/2x4090.txt" OCRTUNE_GPU_WORKER="$build/tests/fake_gpu_worker" \
  OCRTUNE_FAKE_RANK="$build/tests/fake_worker" \
  bench/gpu/measure --no-build --build "$folder/build" --out "$folder/out" --minutes "$minutes"

# Training 200 steps takes CPUs longer than its deadline. What no time was left for has the exit "-",
# what it ran out under 124 or 137.
awk -F'\t' -v short="${3:-}" '
  NR == 1 || $1 == "torch" || $1 == "train" { next }
  $3 == "-" { if (!short) { print $1 ": " $4; bad = 1 }; next }
  short && ($3 == 124 || $3 == 137) { next }
  $3 != 0 && !($3 == 1 && $1 ~ /^tune/) { print $1 ": exit " $3; bad = 1 }
  $4 == "" || $4 == "}" { print $1 ": no finding"; bad = 1 }
  { ran++ }
  END { if (ran < 15) { print ran " steps ran"; bad = 1 }; exit bad }' "$folder/out/summary.tsv"
