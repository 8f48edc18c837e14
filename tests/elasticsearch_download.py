"""Elasticsearch for the tests, from Maven Central: fetched and unpacked once, where the user that runs it can read it.

`python -m tests.elasticsearch_download` does it beforehand, and prints where it is. The newest version, which needs a
newer Java than Debian 12 has, and OpenSearch come from there too.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

VERSION = "8.19.21"
NEWEST = "9.2.0"  # the last one there
# Can be upgraded to it; later ones of 8.19 cannot, because they were released after it ("failed to load metadata").
BEFORE_NEWEST = "8.19.5"
JAVA, NEWEST_JAVA = 17, 21  # Debian 12 has 17
JAVA_FOLDERS = "/usr/lib/jvm"
OPENSEARCH = "opensearch-2.19.1"
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
DEBIAN_PACKAGES = {"java": "openjdk-17-jdk-headless", "mvn": "maven"}
FETCH_TRIES = 3  # a download of 100 MB breaks off now and then
NOBODY = 65534
# Elasticsearch refuses to run as root; `nobody` is there on every system.
OTHER_USER = NOBODY if os.getuid() == 0 else None
PROJECT = Path(__file__).parent.parent


class ServerMissing(RuntimeError):
    """Elasticsearch cannot be had here; the message says what to install."""


def cache_folder() -> Path:
    """The project's own cache, or one that `nobody` can reach when root's checkout cannot be entered by others."""
    wanted = PROJECT / ".cache"
    reachable = all(folder.stat().st_mode & stat.S_IXOTH for folder in (PROJECT, *PROJECT.parents))
    return wanted if OTHER_USER is None or reachable else Path("/var/tmp/treeline-cache")


def missing_programs() -> list[str]:
    return [program for program in DEBIAN_PACKAGES if shutil.which(program) is None]


def fetch(version: str = VERSION) -> Path:
    """The unpacked server; downloaded and unpacked when that has not been done yet."""
    product, _, number = version.rpartition("-") if "-" in version else ("elasticsearch", "", version)
    unpacked_name = f"{product}-{number}"
    artifact = f"org.{product}.distribution.integ-test-zip:{product}:{number}:zip"
    home = cache_folder() / unpacked_name
    if home.exists():
        return home
    missing = missing_programs()
    if missing:
        packages = " ".join(DEBIAN_PACKAGES[program] for program in missing)
        raise ServerMissing(f"Elasticsearch for the tests needs {', '.join(missing)}: apt-get install {packages}")
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as scratch:
        command = ["mvn", "-q", "-B", MAVEN_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={scratch}"]
        for tries_left in reversed(range(FETCH_TRIES)):
            if subprocess.run(command, check=not tries_left).returncode == 0:
                break
        with zipfile.ZipFile(Path(scratch) / f"{unpacked_name}.zip") as archive:
            archive.extractall(scratch)
        unpacked = Path(scratch) / unpacked_name
        for program in (unpacked / "bin").iterdir():
            program.chmod(0o755)
        (unpacked / "plugins").mkdir(exist_ok=True)
        unpacked.rename(home)  # last, so that a broken fetch is done again
    return home


def java_home(version: str = VERSION) -> Path:
    """The Java that runs a server: what `ES_JAVA_HOME` names, the system's, or another one that is installed."""
    least = NEWEST_JAVA if version.startswith("9.") else JAVA
    system = Path(os.path.realpath(shutil.which("java") or "/usr/bin/java")).parent.parent
    homes = (Path(os.environ.get("ES_JAVA_HOME") or system), system, *sorted(Path(JAVA_FOLDERS).glob("*")))
    home = next((home for home in homes if java_version(home) >= least), None)
    if home is None:
        raise ServerMissing(
            f"Elasticsearch {version} needs Java {least}, and there is none: install one in {JAVA_FOLDERS}, or let "
            "ES_JAVA_HOME name it"
        )
    return home


@cache
def java_version(home: Path) -> int:
    """The major version; 0 where there is no Java."""
    if not (home / "bin" / "java").exists():
        return 0
    words = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, check=False).stderr
    number = re.search(r'version "(\d+)', words)
    return int(number[1]) if number else 0


def main() -> int:
    try:
        print(fetch())
    except ServerMissing as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
