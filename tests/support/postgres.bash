# A PostgreSQL server for one run alone; sourced by tests/run and tests/faults/run, which say `fail`.
#
# `start_postgres DIRECTORY` starts one in an empty directory that everybody may enter, and names it in
# ASSENT_TEST_POSTGRES. `stop_postgres` stops it, if there is one.

postgres_bin='' postgres_directory='' as_postgres=()

start_postgres() {
  postgres_bin=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)")
  postgres_directory=$1/pg
  mkdir "$postgres_directory"
  if [ "$(id -u)" = 0 ]; then
    # initdb refuses root.
    local owner=postgres
    id -u "$owner" >/dev/null 2>&1 || owner=nobody
    chown "$owner" "$postgres_directory"
    as_postgres=(runuser -u "$owner" --)
  fi
  local password port
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s\n' "$password" >"$postgres_directory/password"
  chmod 644 "$postgres_directory/password"
  (
    cd "$postgres_directory"
    "${as_postgres[@]}" "$postgres_bin/initdb" -D "$postgres_directory/data" -U assent_test --auth=scram-sha-256 \
      --pwfile="$postgres_directory/password" -E UTF8 --locale=C --no-sync >"$1/initdb.log" 2>&1
  ) || { cat "$1/initdb.log" >&2; fail 'initdb failed'; }
  rm "$postgres_directory/password"
  # No free port is asked for beforehand: one is tried after the other. What a power cut would need is off: nothing here
  # outlives the run.
  for port in $(shuf -i 20000-32000 -n 20); do
    if (
      cd "$postgres_directory"
      "${as_postgres[@]}" "$postgres_bin/pg_ctl" -D "$postgres_directory/data" -l "$postgres_directory/log" -w -t 60 -o "-p $port \
        -c listen_addresses=127.0.0.1 -c unix_socket_directories=$postgres_directory -c max_connections=400 -c fsync=off \
        -c full_page_writes=off" start >/dev/null 2>&1
    ); then
      export ASSENT_TEST_POSTGRES="postgres://assent_test:$password@127.0.0.1:$port/postgres"
      "$postgres_bin/psql" "$ASSENT_TEST_POSTGRES" -Atc 'SELECT version()'
      return
    fi
  done
  cat "$postgres_directory/log" >&2
  fail 'PostgreSQL did not start'
}

stop_postgres() {
  if [ -n "$postgres_directory" ] && [ -f "$postgres_directory/data/postmaster.pid" ]; then
    "${as_postgres[@]}" "$postgres_bin/pg_ctl" -D "$postgres_directory/data" -m immediate -w stop >/dev/null 2>&1 || true
  fi
}
