#!/usr/bin/env bash
# Installs Debian's Chromium if it is missing and CHROMIUM names no other one.
set -euo pipefail

if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium >/dev/null; then
  echo "installing chromium"
  apt-get update -qq
  # The font is for the screenshots.
  DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends chromium fonts-noto-color-emoji >/dev/null
fi
