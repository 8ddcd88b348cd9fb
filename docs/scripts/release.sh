#!/bin/sh
# Builds the last commit from a clean clone: `release.sh FOLDER [PYTHON]`. Wheel, source
# archive and site are put into FOLDER. What is not committed is not in it.
set -eu
out=$1
python=${2:-python3}
root=$(git rev-parse --show-toplevel)
if [ -n "$(git -C "$root" status --porcelain)" ]; then
  echo "Note: changes that are not committed are not in the release." >&2
fi
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT
git clone -q "$root" "$clone/graphgrad"
make -C "$clone/graphgrad" PYTHON="$python" docs
(
  cd "$clone/graphgrad"
  .venv/bin/python -m hatchling build -d "$clone/dist"
)
version=$("$clone/graphgrad/.venv/bin/python" -c \
  'from importlib.metadata import version; print(version("graphgrad"))')
cp -r "$clone/graphgrad/build/site" "$clone/dist/site"
tar -C "$clone/dist" -czf "$clone/dist/graphgrad-$version-site.tar.gz" site
mkdir -p "$out"
rm -rf "$out/site"
cp -r "$clone/dist/." "$out/"
echo "Wrote $out: graphgrad $version, wheel, source archive and site."
