"""Another architecture's kernel, booted under qemu: programs run there as on a machine of that kind.

The guest has this machine's files at /host, and the project and /tmp at their own paths. It takes jobs from a folder
there: shell scripts, whose output and status it leaves beside them.
"""
import itertools
import os
import pathlib
import shlex
import shutil
import subprocess
import time

MACHINES = {"aarch64": (["qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0"),
            "riscv64": (["qemu-system-riscv64", "-M", "virt"], "ttyS0"),
            "armhf": (["qemu-system-arm", "-M", "virt,highmem=off", "-cpu", "cortex-a15"], "ttyAMA0"),
            "mips64el": (["qemu-system-mips64el", "-M", "malta", "-cpu", "MIPS64R2-generic", "-vga", "none"], "ttyS0")}
VARIABLES = ["LD_PRELOAD", "BACKTRACES", "PYTHONMALLOC"]  # of jobs, with MALLOW_…
MODULES = ["virtio_pci", "9pnet_virtio", "9p"]
# MIPS has other numbers of errors than this machine. By the one with which L says that files have no attributes it
# refuses to execute them.
MOUNT = "mount -t 9p -o trans=virtio,version=9p2000.{protocol},msize=262144"
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod $module; done
{mount} root /mnt
{mount},cache=mmap host /mnt/host
for folder in dev proc sys; do mount --move /$folder /mnt/$folder; done
mkdir -p /mnt/dev/pts /mnt{top} /mnt/tmp
mount -t devpts devpts /mnt/dev/pts
mount -t tmpfs tmp /mnt/run
mount --bind /mnt/host{top} /mnt{top}
mount --bind /mnt/host/tmp /mnt/tmp
echo guest: up
exec chroot /mnt /bin/sh {folder}/serve
"""
SERVE = """export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 TERM=dumb
cd {folder}
while :; do
	for job in *.job; do
		[ -e "$job" ] || continue
		{{ {{ sh "$job" 2>&3 < /dev/null; echo $? > "$job.code"; }} | cat > "$job.out"; }} 3>&1 | cat > "$job.err"
		mv "$job.code" "$job.status"
		rm "$job"
	done
	busybox usleep 20000
done
"""


def make_initramfs(root, folder, init):
    """busybox, and the modules by which the guest finds its files, in the order in which they load."""
    stage = folder / "initramfs"
    for name in ("bin", "dev", "proc", "sys", "mnt", "modules"):
        (stage / name).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", stage / "bin/busybox")
    (stage / "init").write_text(init)
    (stage / "init").chmod(0o755)
    [modules] = (root / "lib/modules").iterdir()
    subprocess.run(["/sbin/depmod", "-b", root, modules.name], check=True, stderr=subprocess.DEVNULL)
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        needs[pathlib.Path(name).name.split(".")[0]] = [*reversed(rest.split()), name]
    order = dict.fromkeys(file for name in MODULES for file in needs.get(name, ()))
    for number, file in enumerate(order):
        data = (modules / file).read_bytes()
        if file.endswith(".xz"):
            data = subprocess.run(["xz", "-dc"], input=data, capture_output=True, check=True).stdout
        (stage / "modules" / f"{number:02} {pathlib.Path(file).name.removesuffix('.xz')}".replace(" ", "-")).write_bytes(data)
    names = "\n".join(str(path.relative_to(stage)) for path in sorted(stage.rglob("*")))
    with open(folder / "initramfs.cpio", "wb") as file:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=stage, input=names.encode(), stdout=file, check=True)
    return folder / "initramfs.cpio"


class Guest:
    """A booted kernel. close() ends it."""

    def __init__(self, arch, root, top, folder):
        command, console = MACHINES[arch]
        self.folder, self.numbers = folder, itertools.count()
        self.console = folder / "console"
        (folder / "serve").write_text(SERVE.format(folder=folder))
        (root / "host").mkdir(exist_ok=True)
        initramfs = make_initramfs(root, folder, INIT.format(mount=MOUNT.format(protocol="u" if arch == "mips64el" else "L"), top=top, folder=folder))
        kernel = next((root / "boot").glob("vmlinu*"))
        # Slots whose interrupts are two lines. Malta's controller is told of edges: of two devices on one line it
        # missed one's interrupt while the other's was on, and the guest waited for its files forever.
        shares = [word for tag, path, slot in (("root", root, 18), ("host", "/", 20)) for word in (
            "-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap",
            "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag},addr={slot:x}")]
        with open(self.console, "wb") as output:
            self.process = subprocess.Popen(
                [*command, "-smp", "1" if arch == "mips64el" else "2", "-m", "1500", "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel,
                 "-initrd", initramfs, "-append", f"console={console} quiet panic=-1", *shares],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def run(self, command, environment, folder, timeout):
        """As subprocess.run(…, capture_output=True), with text. What the command writes into the folder is brought
        back afterwards: shared mappings of files of 9p and writes to them do not see one another (Linux 6.12)."""
        job = self.folder / f"{next(self.numbers)}.job"
        exports = "".join(f"export {name}={shlex.quote(str(value))}\n" for name, value in environment.items()
                          if name.startswith("MALLOW") or name in VARIABLES)
        there, folder = f"/run/{job.stem}", shlex.quote(str(folder))
        job.with_suffix(".new").write_text(
            f"mkdir {there}; cp -a {folder}/. {there}/; busybox mount -o bind {there} {folder}\n"
            f"(cd {shlex.quote(os.getcwd())}\n{exports}exec {shlex.join(map(str, command))})\nstatus=$?\n"
            f"busybox umount {folder}; cp -a {there}/. /host{folder}/; rm -r {there}; exit $status\n")
        job.with_suffix(".new").rename(job)
        status = pathlib.Path(f"{job}.status")
        limit = time.monotonic() + timeout
        while not (status.exists() and status.read_text().endswith("\n")):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise AssertionError("the guest did not end it; its console says: "
                                     + self.console.read_text(errors="replace")[-2000:])
            time.sleep(0.02)
        outputs = [pathlib.Path(f"{job}.{name}").read_text(errors="replace") for name in ("out", "err")]
        code = int(status.read_text())
        return subprocess.CompletedProcess(command, code if code <= 128 else 128 - code, *outputs)  # of a signal

    def close(self):
        self.process.kill()
        self.process.wait()
