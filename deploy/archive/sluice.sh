#!/bin/sh
# Runs Sluice on the Java runtime beside this script: bin/sluice serve, bin/sluice --help.
# SLUICE_JAVA_OPTS: more options for the JVM, such as -Xmx512m.
set -eu

home=$(readlink -f -- "$0")
home=$(dirname -- "$(dirname -- "$home")")

# The class-data archive makes the start quick. It names the jars by the paths with which it was
# made. File descriptor 9 gives the folder the same path, wherever it was unpacked.
exec 9<"$home"
if [ -r /proc/self/fd/9/lib/sluice.jsa ]; then
  set -- -XX:SharedArchiveFile=/proc/self/fd/9/lib/sluice.jsa "@$home/lib/class-path" \
    dev.sluice.server.commands.Main "$@"
else
  set -- -cp "$home/lib/*" dev.sluice.server.commands.Main "$@"
fi

# The home folder of a user without an account, as in containers, is what HOME says.
# An archive that does not fit, say after the jars were touched, is left alone without a word.
# shellcheck disable=SC2086 # SLUICE_JAVA_OPTS may hold several options
exec "$home/runtime/bin/java" -XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError \
  -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off \
  ${HOME:+"-Duser.home=$HOME"} ${SLUICE_JAVA_OPTS:-} "$@"
