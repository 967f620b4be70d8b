#!/bin/bash
# A reader that is started for each --batch pages: its model is made ready in 0.5 s, a page takes 20 ms.
batch=$2
while :; do
  begin=$EPOCHREALTIME
  awk -v batch="$batch" 'BEGIN {
    for (i = 0; i < 6000000; ++i) model[i % 5000] = i * 0.5
    for (page = 0; page < batch; ++page) for (i = 0; i < 200000; ++i) sum += model[i % 5000]
  }' || exit 1
  awk "BEGIN { printf \"speed %.3f pages/s\\n\", $batch / ($EPOCHREALTIME - $begin) }"
done
