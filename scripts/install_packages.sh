# SPDX-License-Identifier: Apache-2.0
# Sourced by the other scripts. need_packages PACKAGE... installs the Debian packages that are missing, or names
# exactly what to install and ends with status 3 where that cannot be done.

build_packages=(cmake ninja-build g++ git libcli11-dev libeigen3-dev libfmt-dev nlohmann-json3-dev librsvg2-bin)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libboost-dev libvalijson-dev pkgconf
               python3 python3-dev python3-numpy python3-pytest pybind11-dev libdlpack-dev
               emscripten chromium chromium-driver python3-selenium)
fuzz_packages=(clang libomp-dev)
# Programs that others than Debian package too: what is on the PATH serves.
command -v node >/dev/null && command -v npm >/dev/null || build_packages+=(nodejs npm)

need_packages() {
  local missing=() package
  for package in "$@"; do
    if ! dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed; then
      missing+=("$package")
    fi
  done
  [[ ${#missing[@]} -eq 0 ]] && return 0

  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    # sudo must not stop to ask for a password when nobody is there to type it.
    if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      root=(sudo)
    else
      command -v apt-get >/dev/null && echo "splitwave: as root, run: apt-get install -y ${missing[*]}" >&2
      exit 3
    fi
  fi
  if ! command -v apt-get >/dev/null; then
    echo "splitwave: no apt-get here; install what Debian calls: ${missing[*]}" >&2
    exit 3
  fi
  echo "splitwave: installing ${missing[*]}" >&2
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# has_cuda: whether there is a compiler that CMake finds (cmake/Cuda.cmake). Its usual folder is none where CMake looks:
# found there, it is exported as CUDACXX.
has_cuda() {
  [[ -n ${CUDACXX:-} ]] && { command -v "$CUDACXX" >/dev/null; return; }
  command -v nvcc >/dev/null && return
  [[ -x /usr/local/cuda/bin/nvcc ]] && export CUDACXX=/usr/local/cuda/bin/nvcc
}

# has_setting PRESET NAME=VALUE: whether the preset's build folder was configured so.
has_setting() {
  grep -qE "^${2%%=*}:[A-Z]+=${2#*=}\$" "build/$1/CMakeCache.txt"
}

# configure PRESET: once, with tests, benchmarks, the Python module and, where a toolkit is found, the CUDA kernels; later
# calls leave the build folder as it is and let Ninja find what changed. A folder that scripts/compare made is configured
# anew; what is compiled there stays. Sources are compiled several at a time (unity), which halves a first build.
configure() {
  if [[ ! -f build/$1/build.ninja ]]; then
    cmake --fresh --preset "$1" -DCMAKE_UNITY_BUILD=ON
  elif has_setting "$1" SPLITWAVE_BUILD_TESTS=OFF; then
    cmake --preset "$1" -DSPLITWAVE_BUILD_TESTS=ON -DSPLITWAVE_BUILD_BENCHMARKS=ON -DSPLITWAVE_CUDA=AUTO \
      -DSPLITWAVE_PYTHON=AUTO
  fi
}

# configure_binary PRESET cpu|cuda: the same for the binary alone, whose packages suffice. The kernels, which take longer
# to compile than all the rest, are left out until they are asked for.
configure_binary() {
  if [[ ! -f build/$1/build.ninja ]]; then
    local cuda=OFF
    [[ $2 == cuda ]] && cuda=AUTO
    cmake --fresh --preset "$1" -DCMAKE_UNITY_BUILD=ON -DSPLITWAVE_BUILD_TESTS=OFF -DSPLITWAVE_BUILD_BENCHMARKS=OFF \
      -DSPLITWAVE_PYTHON=OFF "-DSPLITWAVE_CUDA=$cuda"
  elif [[ $2 == cuda ]] && has_setting "$1" SPLITWAVE_CUDA=OFF; then
    cmake --preset "$1" -DSPLITWAVE_CUDA=AUTO
  fi
}
