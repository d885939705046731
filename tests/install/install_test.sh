#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder of its own, and builds and runs a consumer project against it, by find_package and by
# pkg-config.
#   install_test.sh BUILD_FOLDER WORK_FOLDER CXX with-gpu|without-gpu
set -euo pipefail
consumer=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1 work=$2 cxx=$3 gpu=$4
prefix=$work/prefix

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$prefix" >"$work/install.log"

configure() {  # NAME ARGUMENTS...
  cmake -S "$consumer" -B "$work/$1" -G Ninja "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_PREFIX_PATH=$prefix" "${@:2}" \
    >"$work/$1.log" 2>&1
}

must_refuse() {  # NAME MESSAGE ARGUMENTS...
  if configure "$1" "${@:3}"; then
    echo "wrong: find_package took $1" >&2
    exit 1
  fi
  # CMake breaks the lines of messages.
  if ! tr -s ' \n' ' ' <"$work/$1.log" | grep -qF "$2"; then
    echo "wrong: $1 is refused without: $2" >&2
    cat "$work/$1.log" >&2
    exit 1
  fi
}

must_refuse too-new 'requested version "99.0"' -DVERSION=99.0
must_refuse unknown-component 'there is no component attention' -DCOMPONENTS=attention
no_toolkit=-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
configure optional-gpu -DCOMPONENTS=base -DOPTIONAL=gpu "$no_toolkit" || { cat "$work/optional-gpu.log" >&2; exit 1; }
components='base;workloads;schedules;simulator;cpu_reference;reports;studies'
if [[ $gpu == with-gpu ]]; then
  components+=';gpu'
  must_refuse no-toolkit 'component gpu: no CUDA toolkit was found' -DCOMPONENTS=gpu "$no_toolkit"
else
  must_refuse gpu 'component gpu: this splitwave was built without CUDA' -DCOMPONENTS=gpu
fi

configure by-cmake "-DCOMPONENTS=$components" || { cat "$work/by-cmake.log" >&2; exit 1; }
cmake --build "$work/by-cmake" >"$work/build.log" || { cat "$work/build.log" >&2; exit 1; }
"$work/by-cmake/consumer"
if [[ $gpu == with-gpu ]]; then
  "$work/by-cmake/gpu_consumer"
fi

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name splitwave.pc)")
export PKG_CONFIG_PATH
version=$(pkg-config --modversion splitwave)
# shellcheck disable=SC2046  # flags are words
"$cxx" "-DSPLITWAVE_EXPECTED_VERSION=\"$version\"" "$consumer/main.cpp" $(pkg-config --cflags --libs splitwave) \
  -o "$work/by-pkg-config"
"$work/by-pkg-config"
if [[ $gpu == with-gpu ]]; then
  # shellcheck disable=SC2046
  "$cxx" "$consumer/gpu.cpp" $(pkg-config --cflags --libs splitwave-gpu) -o "$work/gpu-by-pkg-config"
  "$work/gpu-by-pkg-config"
fi
echo "find_package and pkg-config: splitwave $version, $gpu"
