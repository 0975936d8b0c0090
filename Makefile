# Verbs, one plain command each.
.PHONY: check test asan bench approve format

sources = $(shell git ls-files '*.cpp' '*.hpp')

check:    ## what needs no run: format, commit messages, clang-tidy
	clang-format-14 --dry-run --Werror $(sources)
	scripts/check_commits
	cmake --preset dev
	run-clang-tidy-14 -quiet -p build/dev "$(CURDIR)/(src|cli)/"

test:     ## every test, release and sanitizers
	./test

asan:     ## build and test under the address and undefined-behaviour sanitizers
	cmake --workflow --preset asan

bench:    ## Lapwing's own cost on this machine
	cmake --preset release
	cmake --build --preset release --target bench_hot_path
	build/release/bin/bench_hot_path

approve:  ## accept the present outputs as the golden ones; look at the diff first
	cmake --preset release
	cmake --build --preset release
	LAPWING_APPROVE=1 ctest --preset release -R Golden

format:
	clang-format-14 -i $(sources)
