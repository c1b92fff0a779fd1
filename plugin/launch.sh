#!/bin/sh
# `launch.sh EVENT` answers a hook, `launch.sh mcp` is the server: both by the howcome that is installed. Where none is,
# the beginning of a session installs the source beside this script in the background, into the plugin's own data folder.
root=${0%/*}
config=${CLAUDE_CONFIG_DIR:-$HOME/.claude}
data=${CLAUDE_PLUGIN_DATA:-$root/.data} # older clients name no such folder: beside this script, which they copy

# Whether `howcome init` wired this folder: then its hooks and its server act, and the plugin is silent.
is_wired() {
  set -- "$config/settings.json"
  folder=${CLAUDE_PROJECT_DIR:-$PWD}
  while [ -n "$folder" ]; do
    set -- "$@" "$folder/.claude/settings.local.json"
    if [ -f "$folder/.git" ] && read -r _ git <"$folder/.git"; then # a worktree: its repository's settings hold, too
      set -- "$@" "${git%/.git/*}/.claude/settings.local.json"
    fi
    folder=${folder%/*}
  done
  grep -qs 'howcome/launch\.py' "$@"
}

# Whether a program is a howcome; its interpreter and its launch.py, by what a shell reads without starting a process.
use() {
  program=$1
  [ -x "$program" ] && read -r python <"$program" || return 1
  python=${python#??} python=${python%% *}
  for script in "${python%/bin/*}"/lib/python3*/site-packages/howcome/launch.py; do :; done
  [ -x "$python" ]
}

find_howcome() {
  use "$HOME/.local/bin/howcome" || use "$data/bin/howcome" || use "$(command -v howcome)"
}

begin_install() {
  mkdir -p "$data"
  [ -n "$(find "$data/installing" -prune -mmin +15 2>/dev/null)" ] && rmdir "$data/installing" # it was killed
  mkdir "$data/installing" 2>/dev/null || return 0
  (trap '' HUP; install >"$data/install.log" 2>&1 </dev/null; rmdir "$data/installing") >/dev/null 2>&1 </dev/null &
}

# Whatever is downloaded or noted goes into the data folder, which the client deletes with the plugin.
install() {
  PATH=$PATH:$HOME/.local/bin:$HOME/.cargo/bin:/opt/homebrew/bin:/usr/local/bin
  source=$(cd -P "$root/src/.." && pwd) || return
  export UV_TOOL_DIR="$data/tools" UV_TOOL_BIN_DIR="$data/bin" UV_PYTHON_INSTALL_DIR="$data/python" UV_NO_CACHE=1
  if command -v uv >/dev/null; then
    uv tool install --force --reinstall "$source"
  elif command -v pipx >/dev/null; then
    PIPX_HOME=$data PIPX_BIN_DIR=$data/bin PIPX_MAN_DIR=$data/man pipx install --force "$source"
  else
    echo 'Neither uv nor pipx was found. Install one of them, or howcome itself.' && false
  fi && echo "$root" >"$data/source"
}

if is_wired; then
  { [ "$1" = mcp ] && find_howcome; } || exit 0
  set -- mcp --silent
fi
if ! find_howcome; then
  case $1 in
    SessionStart)
      begin_install
      echo '{"systemMessage": "howcome is being installed in the background. If this is said again, install.log in the data folder of the plugin tells why."}'
      exit 0 ;;
    mcp)
      begin_install
      seconds=0
      until find_howcome || [ ! -d "$data/installing" ] || [ $seconds = 120 ]; do
        sleep 1
        seconds=$((seconds + 1))
      done
      find_howcome || exit 1 ;;
    *) exit 0 ;;
  esac
fi
case $1 in
  SessionStart)
    [ "$program" != "$data/bin/howcome" ] || { read -r source <"$data/source" && [ "$source" = "$root" ]; } || begin_install ;;
  SessionEnd) export HOWCOME_START_DEADLINE_MS=1200 ;; # the client ends a plugin's hook after 1.5 s, and says so
esac
[ -f "$script" ] && exec "$python" -I -S -E "$script" "$@"
[ "$1" = mcp ] || set -- hook "$@"
exec "$program" "$@"
