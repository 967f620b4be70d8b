"""What `pip install .` calls (PEP 517): the programs are built by scripts/build and packed by scripts/wheel."""
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*words: str) -> str:
    made = subprocess.run([str(word) for word in words], cwd=SOURCE, stdout=subprocess.PIPE, text=True)
    if made.returncode != 0:
        raise SystemExit(f"{words[0]} failed; scripts/deps build installs the packages that the build needs")
    return made.stdout


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    run(SOURCE / "scripts/build", "build-pip", "--", "-DOCRTUNE_TESTS=OFF")
    packed = run(SOURCE / "scripts/wheel", "--whole", "build-pip", wheel_directory)
    return pathlib.Path(packed.strip().splitlines()[-1]).name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("there is no source archive: install from a checkout, pip install .")
