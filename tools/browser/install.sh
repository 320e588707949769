#!/bin/sh
# Installs Debian's Chromium and its driver where this user may. Fails, and says why, where not.
set -u

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "install.sh: chromium is missing, and only root can install it" >&2
        exit 1
    fi
    as_root="sudo -n"
fi
if ! command -v apt-get >/dev/null; then
    echo "install.sh: chromium is missing, and there is no apt-get to install it with" >&2
    exit 1
fi
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes \
        --no-install-recommends -o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
        chromium chromium-driver >/dev/null
}
# The lists of packages of a new machine are empty or old.
install || { $as_root apt-get update --quiet --quiet && install; }
