# A thin front of Meson: every target is one or two commands. `make help` lists them.

PREFIX  ?= /usr/local
DESTDIR ?=
# Debian's Python, whatever else comes first on the PATH.
PYTHON  := /usr/bin/python3
BUILD   := build

version := $(shell sed -n "s/^ *version: '\(.*\)',/\1/p" meson.build)

# Another architecture, as Meson names it: its tool and agent are built into a folder of that name.
ARCH    ?=
foreign := $(addprefix $(BUILD)/,$(filter-out $(shell uname -m),$(ARCH)))
built   := $(or $(foreign),$(BUILD))

architectures = $(shell sed 's/ .*//; /^\#/d' tools/cross/architectures.txt)
# $(call cross,ARCH,N): field N of its line.
cross = $(shell awk '$$1 == "$(1)" { print $$$(2) }' tools/cross/architectures.txt)

# Options of `make bench`: BENCH='--fast', BENCH='--only python,clang --rounds 9', …
BENCH ?=

# $(call had,OPTION): whether the tree was set up with it. What one target asked for stays with the
# next ones, lest they build everything again in turns.
had = $(shell grep -s -e $(1) $(BUILD)/meson/options)

# WERROR=1: warnings are errors, as in .ci/run.
setup_options = -Dwerror=$(if $(or $(WERROR),$(call had,-Dwerror=true)),true,false) -Debpf=$(ebpf)

# The demo does without clang (286 MB) where nothing was built with it before.
ebpf = true
demo: ebpf = $(if $(call had,-Debpf=true),true,false)

# The tests need more packages than the tool: they are built for `make check` and after it.
tests = $(if $(call had,-Dtests=true),true,false)
check check-long asan tsan: tests = true

# The machine may be busy, and the sanitizers are slow: no test is given up before this many times
# its limit.
patience = --timeout-multiplier 10

# What root builds in somebody else's clone (sudo make install) belongs to the clone's owner, who
# could not build again among files of root's.
owner := $(shell stat -c %u .)
as_owner := $(if $(filter 0,$(shell id -u)),$(if $(filter-out 0,$(owner)),setpriv --reuid $(owner) \
	--regid $(shell stat -c %g .) --clear-groups))

# $(call build_dir,DIR,OPTIONS): makes or updates the Meson directory and builds in it.
define build_dir
@$(as_owner) tools/build.sh $(1) $(setup_options) $(2)
endef

# $(call runnable,DIR,TO): the tool and its agent side by side, as the tool looks for them.
define runnable
@$(as_owner) mkdir -p $(2)
@$(as_owner) ln -f $(1)/src/cli/mallow $(2)/mallow
@$(as_owner) ln -f $(BUILD)/meson/src/agent/libmallow.so $(BUILD)/meson/src/agent/libmallow.a \
	$(BUILD)/meson/src/agent/libmallow.options $(2)/
endef

# $(call cross_dir,ARCH,DIR,SED,OPTIONS): the same in build/ARCH/DIR by the cross compiler, whose settings SED completes.
define cross_dir
@$(as_owner) mkdir -p $(BUILD)/$(1)
@sed -e 's|@cpu@|$(1)|' -e 's|@gnu@|$(call cross,$(1),3)|' -e 's|@family@|$(call cross,$(1),4)|' \
	-e "s|@multiarch@|$$($(call cross,$(1),3)-gcc -print-multiarch)|" -e 's|@qemu@|$(patsubst -,$(1),$(call cross,$(1),7))|' \
	-e 's|@order@|$(call cross,$(1),8)|' -e '$(3)' tools/cross/cross.ini.in | $(as_owner) tee $(BUILD)/$(1)/$(2).ini >/dev/null
@$(as_owner) tools/build.sh $(BUILD)/$(1)/$(2) --cross-file $(BUILD)/$(1)/$(2).ini -Dwerror=$(if $(WERROR),true,false) \
	--buildtype=debugoptimized -Dtests=false $(4)
endef

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | expand -t 22

demo: setup-demo tool ## record the tour's program, show the report and a flame graph
	@tools/demo.sh $(BUILD)/mallow $(BUILD)/demo

agent_alone = -Dtool=false -Dweb=false -Debpf=false

ifneq ($(foreign),)
whole := $(filter tool,$(call cross,$(ARCH),5))
unpacked := $(filter-out -,$(call cross,$(ARCH),2))
build: setup-cross-$(ARCH)
	@$(if $(unpacked),$(as_owner) tools/cross/sysroot.sh $(ARCH) $(foreign)/sysroot)
	$(call cross_dir,$(ARCH),meson,$(if $(unpacked),s|@root@|$(abspath $(foreign))/sysroot|g,/@root@/d),$(if $(whole),,$(agent_alone)))
	@$(as_owner) ln -f $(if $(whole),$(foreign)/meson/src/cli/mallow) $(foreign)/meson/src/agent/libmallow.so \
		$(foreign)/meson/src/agent/libmallow.a $(foreign)/meson/src/agent/libmallow.options $(foreign)/

# Under qemu's emulation of system calls, and then under a kernel that qemu boots: docs/ports.md. The tool
# of this machine reads the recordings.
foreign_tests = MALLOW_ARCH=$(ARCH) MALLOW_LIBRARY=$(abspath $(foreign))/libmallow.so PYTHONDONTWRITEBYTECODE=1
guest_tests = files there tracers ebpf
foreign_pytest = $(PYTHON) -m pytest -q -p no:cacheprovider tests/e2e/record/test_samples.py
# Programs that are linked with the agent, and the C API: where nothing else runs them.
linked_tests = $(if $(filter mips64el mips64 armhf i386,$(ARCH)),tests/e2e/record/test_linked.py::$(1))
api_tests = $(if $(filter armhf i386,$(ARCH)),tests/e2e/record/test_pools.py::test_sums \
	$(addprefix tests/e2e/record/test_toggle.py::test_,switched started) tests/e2e/record/test_sample.py::test_estimates)
booted := $(filter-out -,$(call cross,$(ARCH),6))
check:
	@$(MAKE) --no-print-directory setup-test $(if $(booted),setup-guest-$(ARCH)) build ARCH=
	@$(MAKE) --no-print-directory build
	@$(if $(booted),$(as_owner) tools/cross/sysroot.sh $(ARCH) $(foreign)/guest guest)
	@$(foreign_tests) $(foreign_pytest) tests/e2e/ports tests/e2e/record/test_small_stacks.py \
		$(call linked_tests,test_sample) $(api_tests) -n 2
	@$(if $(booted),$(foreign_tests) MALLOW_GUEST=$(abspath $(foreign))/guest $(foreign_pytest) $(guest_tests:%=tests/e2e/ports/test_%.py) \
		$(call linked_tests,test_fork_with_threads))

# After check: pages of 16 KiB, and programs that sign return addresses (Debian 13's).
check-16k:
	@$(as_owner) tools/cross/sysroot.sh $(ARCH) $(foreign)/guest-16k guest 16k
	@$(foreign_tests) MALLOW_GUEST=$(abspath $(foreign))/guest-16k $(foreign_pytest) tests/e2e/ports
else
check: setup-test build build-asan $(if $(filter x86_64,$(shell uname -m)),build-agents build-aarch64-guest) ## all tests; the last line says how many passed; ARCH=…: those of another architecture
	@$(PYTHON) tools/check.py

build: setup-build tool ## build/mallow and build/libmallow.so, to be used from there; ARCH=aarch64, riscv64, mips64el, mips64, i386, armhf, armel: build/aarch64/mallow, …
endif

check-long: setup-long build build-asan build-tsan build-clang deb rpm tarball wheel ## check, and what takes long or needs large packages
	@$(PYTHON) tools/check.py --long
	@$(MAKE) --no-print-directory check ARCH=aarch64
	@$(MAKE) --no-print-directory check-16k ARCH=aarch64
	@$(MAKE) --no-print-directory check ARCH=riscv64
	@$(MAKE) --no-print-directory check ARCH=mips64el
	@$(MAKE) --no-print-directory check ARCH=mips64
	@$(MAKE) --no-print-directory check ARCH=i386
	@$(MAKE) --no-print-directory check ARCH=armhf
	@$(MAKE) --no-print-directory check ARCH=armel

check-distributions: setup-distributions ## make demo and make check on a bare Debian 12 and 13 (root; an hour and more)
	@tools/check_distributions.sh $(BUILD)/distributions

tool:
	$(call build_dir,$(BUILD)/meson,--buildtype=debugoptimized -Dtests=$(tests))
	$(call runnable,$(BUILD)/meson,$(BUILD))

# What programs that use the C API are compiled with: needs no build.
install-headers:
	install -d '$(DESTDIR)$(PREFIX)/include/mallow' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	install -m 644 include/mallow/mallow.h '$(DESTDIR)$(PREFIX)/include/mallow/mallow.h'
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(version)|' tools/mallow.pc.in \
		> '$(DESTDIR)$(PREFIX)/lib/pkgconfig/mallow.pc'

# What programs are linked with that are to have the agent without a preload.
install-libraries: build
	install -d '$(DESTDIR)$(PREFIX)/lib/mallow' '$(DESTDIR)$(PREFIX)/lib/pkgconfig'
	install -m 755 $(built)/libmallow.so '$(DESTDIR)$(PREFIX)/lib/mallow/libmallow.so'
	ln -sf mallow/libmallow.so '$(DESTDIR)$(PREFIX)/lib/libmallow.so'
	install -m 644 $(built)/libmallow.a '$(DESTDIR)$(PREFIX)/lib/libmallow.a'
	$(PYTHON) tools/set_installed_tool.py ../../bin/mallow '$(DESTDIR)$(PREFIX)/lib/mallow/libmallow.so'
	$(PYTHON) tools/set_installed_tool.py '$(abspath $(PREFIX))/bin/mallow' '$(DESTDIR)$(PREFIX)/lib/libmallow.a'
	install -m 644 $(built)/libmallow.options '$(DESTDIR)$(PREFIX)/lib/mallow/libmallow.options'
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(version)|' tools/mallow-agent.pc.in \
		> '$(DESTDIR)$(PREFIX)/lib/pkgconfig/mallow-agent.pc'

install: build tool install-headers install-libraries ## into $(DESTDIR)$(PREFIX)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(built)/mallow '$(DESTDIR)$(PREFIX)/bin/mallow'
	install -d '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/doc/mallow/docs' \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions' \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 644 $(BUILD)/meson/src/cli/mallow.1 '$(DESTDIR)$(PREFIX)/share/man/man1/mallow.1'
	install -m 644 $(BUILD)/meson/src/cli/mallow.bash \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/mallow'
	install -m 644 $(BUILD)/meson/src/cli/_mallow \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mallow'
	install -m 644 $(BUILD)/meson/src/cli/mallow.fish \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mallow.fish'
	install -m 644 LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md '$(DESTDIR)$(PREFIX)/share/doc/mallow/'
	install -m 644 docs/*.md docs/report.schema.json '$(DESTDIR)$(PREFIX)/share/doc/mallow/docs/'

uninstall: ## out of $(DESTDIR)$(PREFIX) again
	rm -f '$(DESTDIR)$(PREFIX)/bin/mallow' '$(DESTDIR)$(PREFIX)/share/man/man1/mallow.1' \
		'$(DESTDIR)$(PREFIX)/lib/pkgconfig/mallow.pc' \
		'$(DESTDIR)$(PREFIX)/lib/pkgconfig/mallow-agent.pc' \
		'$(DESTDIR)$(PREFIX)/lib/libmallow.so' '$(DESTDIR)$(PREFIX)/lib/libmallow.a' \
		'$(DESTDIR)$(PREFIX)/share/bash-completion/completions/mallow' \
		'$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_mallow' \
		'$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/mallow.fish'
	rm -rf '$(DESTDIR)$(PREFIX)/lib/mallow' '$(DESTDIR)$(PREFIX)/include/mallow' \
		'$(DESTDIR)$(PREFIX)/share/doc/mallow'

# What a person installs. All of it carries the time of the last commit.
release := $(BUILD)/release
release_setup = setup-$(1) $(if $(foreign),setup-cross-$(ARCH))
dated = $(as_owner) env SOURCE_DATE_EPOCH=$$($(as_owner) git log -1 --format=%ct) DEB_RULES_REQUIRES_ROOT=no
changelog_version = $(shell dpkg-parsechangelog -S Version)

# Packages are made in a copy of debian/, so that the tree stays clean.
deb: $(call release_setup,release) ## Debian packages into build/release; ARCH=aarch64: of another architecture
	@[ '$(version)' = '$(changelog_version)' ] || { \
		echo 'deb: meson.build has version $(version), debian/changelog $(changelog_version)' >&2; exit 1; }
	@$(as_owner) mkdir -p $(release)
	@$(as_owner) rm -rf $(release)/debian
	@$(as_owner) cp -r debian $(release)/
	@cd $(release) && $(dated) \
		$(if $(foreign),dpkg-architecture -a $(call cross,$(ARCH),2) -c) debian/rules -s binary TOP=$(CURDIR)

rpm: $(call release_setup,release) ## the same for RPM
	@$(as_owner) mkdir -p $(release)/rpm
	@$(dated) HOME=$(abspath $(release))/rpm rpmbuild -bb --quiet --target $(or $(ARCH),$(shell uname -m)) \
		-D '_topdir $(abspath $(release))/rpm' -D '_rpmdir $(abspath $(release))' \
		-D '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' \
		-D 'TOP $(CURDIR)' -D 'VERSION_ $(version)' \
		-D 'STRIP $(if $(foreign),$(call cross,$(ARCH),3)-)strip' tools/mallow.spec

# How hard zstd compresses the tarball: 1 to 19.
zstd    := 19

# What runs without being installed, as `make install` puts it, with the tool's libraries beside it.
machine := $(or $(ARCH),$(shell uname -m))
triple   = $(or $(call cross,$(ARCH),3),$(shell gcc -print-multiarch))
bundle  := mallow-$(version)-linux-$(machine)
bundle: $(call release_setup,bundle)
	@rm -rf $(release)/$(bundle)
	@$(as_owner) $(MAKE) --no-print-directory -s install DESTDIR=$(abspath $(release))/ PREFIX=$(bundle)
	@$(as_owner) $(PYTHON) tools/release/bundle.py $(release)/$(bundle) $(built)/meson/src/launcher/launcher \
		$(triple) $(foreach folder,/usr/lib /lib,$(if $(foreign),$(foreign)/sysroot)$(folder)/$(triple))

tarball: bundle ## build/release/mallow-VERSION-linux-MACHINE.tar.zst, which runs on any distribution
	@$(dated) sh -c 'tar --sort=name --mtime=@$$SOURCE_DATE_EPOCH --owner=0 --group=0 --numeric-owner --mode=go-w \
		-C $(release) -c $(bundle) | zstd -q -f -$(zstd) -o $(release)/$(bundle).tar.zst'
	@echo "wrote $(release)/$(bundle).tar.zst"

wheel: bundle ## build/release/mallow-VERSION-….whl, for pip
	@$(dated) $(PYTHON) tools/release/wheel.py $(release)/$(bundle) $(version) $(machine) $(release)

# All that a person can install. The tree should be clean: the version that the tool says names the commit.
release: ## deb, rpm, tarball and wheel for x86-64 and AArch64, and SHA256SUMS
	@rm -f $(addprefix $(release)/,*.deb *.rpm *.tar.zst *.whl)
	@$(MAKE) --no-print-directory deb rpm tarball wheel ARCH=
	@$(MAKE) --no-print-directory deb rpm tarball wheel ARCH=aarch64
	@cd $(release) && sha256sum *.deb *.rpm *.tar.zst *.whl >SHA256SUMS

bench: setup-bench build ## mallow beside bare programs and other profilers, into bench/results
	@$(PYTHON) bench/run.py $(BENCH)

asan: setup-test build-asan ## the unit tests under the address and undefined sanitizers
	@meson test -C $(BUILD)/meson-asan --no-rebuild --print-errorlogs $(patience)

tsan: setup-test build-tsan ## the unit tests under the thread sanitizer, those of the agent's tables too
	@meson test -C $(BUILD)/meson-tsan --no-rebuild --print-errorlogs $(patience)

fuzz: setup-fuzz ## a minute of fuzzing for each target
	@tools/fuzz.sh $(BUILD)/fuzz 60

lint: setup-lint build-clang ## clang-tidy, cppcheck, shellcheck, direction of the rooms
	@tools/lint.sh $(BUILD)/meson-clang

fmt: setup-lint ## clang-format over all C and C++
	@tools/sources.sh | xargs -0 clang-format -i

clean: ## remove build/
	rm -rf $(BUILD)

# The agent of each other architecture. Samples of i386 run on this processor, some of AArch64 under its kernel.
# Where packages cannot be had, the tests are skipped, and counted.
build-agents:
	@if $(MAKE) --no-print-directory setup-agents; then for arch in $(architectures); do \
		$(MAKE) --no-print-directory agent-$$arch || exit 1; done; fi

build-aarch64-guest:
	@! $(MAKE) --no-print-directory setup-guest-aarch64 || \
		$(as_owner) tools/cross/sysroot.sh aarch64 $(BUILD)/aarch64/guest guest || true

agent-%:
	$(call cross_dir,$*,agent,/@root@/d,$(agent_alone))

build-asan: setup-test build
	$(call build_dir,$(BUILD)/meson-asan,-Db_sanitize=address$(comma)undefined -Db_lundef=false \
		-Doptimization=1 '-Dc_args=-g1 -Wno-format-truncation')
	$(call runnable,$(BUILD)/meson-asan,$(BUILD)/asan)

# gcc warns of fences, which the thread sanitizer does not understand: seqlocks have them.
build-tsan: setup-test
	$(call build_dir,$(BUILD)/meson-tsan,-Db_sanitize=thread -Db_lundef=false -Dc_args=-Wno-tsan)

build-clang: setup-test
	$(call build_dir,$(BUILD)/meson-clang,--native-file tools/clang.ini)

setup-%:
	@tools/setup.sh $*
	@$(as_owner) web/node.sh >/dev/null

comma := ,
# Ninja and pytest use all processors by themselves; apt-get may run but once.
.NOTPARALLEL:
.PHONY: help demo check check-16k check-long check-distributions build tool deb rpm bundle tarball wheel release install install-headers install-libraries uninstall bench asan tsan fuzz lint fmt clean build-agents build-aarch64-guest build-asan build-tsan build-clang
