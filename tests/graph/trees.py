"""Random repository trees for the property tests, and a few real-looking addresses."""

from hypothesis import strategies as st

from treeline.corpus.function import Address

NAMES = st.sampled_from(["a", "b", "core", "io", "parse", "util", "x"])
ADDRESSES = st.builds(
    lambda repo, folders, file, scopes: Address(
        f"owner/{repo}", "/".join([*folders, f"{file}.py"]), ".".join(scopes), "python", ""
    ),
    NAMES,
    st.lists(NAMES, max_size=4),
    NAMES,
    st.lists(NAMES, min_size=1, max_size=3),
)
ADDRESS_LISTS = st.lists(ADDRESSES, min_size=2, max_size=40)


def address(repo: str, path: str, name: str) -> Address:
    return Address(repo, path, name, "python", f"https://example.org/{repo}/{path}#L1-L2")


SMALL = [
    address("owner/one", "src/io/read.py", "read_csv"),
    address("owner/one", "src/io/read.py", "Reader.read"),
    address("owner/one", "src/io/write.py", "write_csv"),
    address("owner/one", "tests/test_read.py", "test_read"),
    address("owner/two", "two/csv.py", "load"),
]
