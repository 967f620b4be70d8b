#!/usr/bin/env bash
# scripts/skips: what was skipped is counted, and only what the list allows passes.
set -euo pipefail
skips=$1/scripts/skips
log=$(mktemp); trap 'rm -f "$log"' EXIT
says() { printf '\t 12 - %s (Skipped)\n' "$1" > "$log"; }
says 'trial/SlowClients.TorchThroughTorchrun [slow]'
"$skips" "$log" | grep 'for want of luck' > /dev/null  # not -q: it would end the writer
says 'base/Nobody.Knows'
if "$skips" "$log" >/dev/null; then echo "a skipped test that no line names passed" >&2; exit 1; fi
says 'cli/KeptStore.IsWrittenWhenAsked'
env -u OCRTUNE_STORE "$skips" "$log" >/dev/null
if OCRTUNE_STORE=/x "$skips" "$log" >/dev/null; then echo "a test that could run was skipped and passed" >&2; exit 1; fi
