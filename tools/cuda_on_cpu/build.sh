#!/bin/sh
# Builds the libraries into a folder, with g++.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" && cd "$1"
for library in cuda:driver nvrtc:compiler cublas:products; do
	g++ -O3 -march=native -std=c++17 -fPIC -shared "$here/${library#*:}.cpp" -o "lib${library%%:*}.so.new" -ldl
	mv "lib${library%%:*}.so.new" "lib${library%%:*}.so"
done
cp "$here/kernel.h" .
