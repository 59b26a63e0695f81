#!/usr/bin/env bash
# Checks what can be checked without a build: Swift format, and that every script at least parses.
#
#   scripts/lint.sh            report, and fail on anything found
#   scripts/lint.sh --fix      format the Swift sources in place
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift=$(scripts/swift-path.sh)

# Files that belong to the project, one a line, by extension: from git where there is a checkout, else from the tree.
project_files() {
    if git -c safe.directory='*' rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "*.$1" |
            while IFS= read -r path; do [ ! -f "$path" ] || printf '%s\n' "$path"; done
    else
        find . \( -name '.build*' -o -name .git \) -prune -o -type f -name "*.$1" -print
    fi
}

# Not read from a process, whose failure nobody would hear of: then there would be nothing to check, and nothing wrong.
swift_names=$(project_files swift)
shell_names=$(project_files sh)
python_names=$(project_files py)
for names in "$swift_names" "$shell_names" "$python_names"; do
    [ -n "$names" ] || { echo "lint: some kind of source has no files" >&2; exit 1; }
done

mapfile -t swift_files <<<"$swift_names"
if [ "${1:-}" = --fix ]; then
    "$swift" format format --in-place --parallel "${swift_files[@]}"
    exit 0
fi
"$swift" format lint --strict --parallel "${swift_files[@]}"

scripts/web_files.py --check

mapfile -t shell_files <<<"$shell_names"
for file in "${shell_files[@]}" .ci/run; do
    bash -n "$file"
done
mapfile -t python_files <<<"$python_names"
python3 - "${python_files[@]}" <<'PYTHON'
import ast
import sys

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        ast.parse(file.read(), filename=path)
PYTHON
