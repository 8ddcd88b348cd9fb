"""The file format: exact, atomic, and safe against foreign files."""

import io
import json
import os
import shutil
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphgrad import storage
from graphgrad.storage import writing
from helpers import FIXTURES

HEADER = {"states": ["prey", "λ \ud800 \x00\n"], "dt": 0.1, "n": 2**70, "none": None}
ARRAYS = {"coefficients": np.array([[1.5, 0.0]]), "mask": np.array(True)}
PATHS = ("fit", "fit.zip")


def members(path):
    """Everything below a folder."""
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))


@given(
    array=hnp.arrays(
        st.sampled_from(["f4", "f8", ">f8", "f2", "i8", "u1", "?", "c16"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0),
    ),
    text=st.text(),
    number=st.floats(allow_nan=False, allow_infinity=False),
)
@pytest.mark.parametrize("name", PATHS)
def test_round_trip_is_bit_for_bit(tmp_path_factory, name, array, text, number):
    path = tmp_path_factory.mktemp("round") / name
    header = {"text": text, "number": number, text: [True, {"a": None}]}
    for name in ("arrays", "format", "form"):
        header.pop(name, None)
    storage.write(path, header, {"values": array})
    read, arrays = storage.read(path)
    assert read == {"format": "graphgrad/2", **header}
    assert arrays["values"].dtype == array.dtype
    assert arrays["values"].shape == array.shape
    assert arrays["values"].tobytes() == array.tobytes()


def test_payloads_of_nan_and_orders_survive(tmp_path):
    odd = np.array([0x7FF8_DEAD_BEEF_0001, 0xFFF0_0000_0000_0001], np.uint64)
    arrays = {
        "odd": odd.view(float),
        "turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "file": np.arange(10)[::3],
    }
    storage.write(tmp_path / "fit.zip", HEADER, arrays)
    header, read = storage.read(tmp_path / "fit.zip")
    assert header == {"format": "graphgrad/2", **HEADER}
    np.testing.assert_array_equal(read["odd"].view(np.uint64), odd)
    np.testing.assert_array_equal(read["turned"], arrays["turned"])
    np.testing.assert_array_equal(read["file"], [0, 3, 6, 9])
    first = (tmp_path / "fit.zip").read_bytes()
    storage.write(tmp_path / "fit.zip", HEADER, arrays)
    assert (tmp_path / "fit.zip").read_bytes() == first


def test_other_programs_can_read_it(tmp_path):
    storage.write(tmp_path / "fit", HEADER, ARRAYS)
    assert json.loads((tmp_path / "fit" / "model.json").read_text())["dt"] == 0.1
    with np.load(tmp_path / "fit" / "arrays.npz", allow_pickle=False) as arrays:
        assert arrays["coefficients"].tolist() == [[1.5, 0.0]]


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    ("name", "function", "call"),
    [
        ("fit.zip", "fsync", 1),
        ("fit.zip", "replace", 1),
        ("fit", "fsync", 1),
        ("fit", "fsync", 2),
        ("fit", "replace", 1),
    ],
)
def test_an_interruption_leaves_nothing(
    tmp_path, monkeypatch, name, function, call, exists
):
    path = tmp_path / name
    if exists:
        storage.write(path, {"version": "old"}, ARRAYS)
    before = members(tmp_path)
    actual, calls = getattr(os, function), []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == call:
            raise KeyboardInterrupt
        return actual(*arguments)

    monkeypatch.setattr(writing.os, function, interrupted)
    with pytest.raises(KeyboardInterrupt):
        storage.write(path, {"version": "new"}, ARRAYS)
    monkeypatch.undo()
    assert members(tmp_path) == before
    if exists:
        assert storage.read(path)[0]["version"] == "old"


def test_other_files_of_a_folder_are_left_alone(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    storage.write(tmp_path, {"version": 1}, ARRAYS)
    storage.write(tmp_path, {"version": 2}, {})
    assert members(tmp_path) == ["arrays.npz", "model.json", "report.html"]
    header, arrays = storage.read(tmp_path)
    assert header["version"] == 2
    assert arrays == {}


def test_mixed_files_of_two_fits_are_rejected(tmp_path):
    storage.write(tmp_path / "a", HEADER, ARRAYS)
    storage.write(tmp_path / "b", HEADER, {"coefficients": np.zeros(3)})
    os.replace(tmp_path / "b" / "arrays.npz", tmp_path / "a" / "arrays.npz")
    with pytest.raises(ValueError, match="not the one that model"):
        storage.read(tmp_path / "a")


def npz(**arrays):
    """An archive of arrays, pickled ones among them."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def test_foreign_and_hostile_files_are_refused(tmp_path):
    path = tmp_path / "fit.zip"
    storage.write(path, HEADER, ARRAYS)
    with zipfile.ZipFile(path) as archive:
        good = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(good["model.json"])
    whole = path.read_bytes()

    def refused(content, message, **options):
        if isinstance(content, dict):
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, part in {**good, **content}.items():
                    archive.writestr(name, part)
        else:
            path.write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            storage.read(path, **options)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)

    refused(b"", "damaged or of another program")
    refused(b"not a zip", "damaged or of another program")
    for length in range(0, len(whole), 97):
        refused(whole[:length], "must be a saved fit")
    for place in range(0, len(good["arrays.npz"]), 41):
        flipped = bytearray(good["arrays.npz"])
        flipped[place] ^= 0xFF
        if storage_differs(bytes(flipped), good["arrays.npz"]):
            refused({"arrays.npz": bytes(flipped)}, "saved fit")
    refused({"../evil": b""}, "model.json and arrays.npz and nothing else")
    refused({"model.json": b"[1]"}, "no 'format' of graphgrad")
    refused({"model.json": b"{}"}, "no 'format' of graphgrad")
    refused({"model.json": b"{"}, "damaged")
    refused({"model.json": b"\xff"}, "damaged")
    refused({"model.json": b"[" * 100_000}, "damaged")
    refused({"model.json": b'{"a": NaN}'}, "NaN is not a JSON number")
    refused({"model.json": b'{"a": 1e999}'}, "must be finite, got inf")
    for kind in ("graphgrad/3", "graphgrad/x" * 99):
        newer = json.dumps({**header, "format": kind}).encode()
        refused({"model.json": newer}, "update graphgrad")
    old = json.dumps({**header, "form": "rate"}).encode()
    refused({"model.json": old}, "has 'form', 'rate', which is not in 'graphgrad/2'")
    older = json.dumps({**header, "format": "graphgrad/1", "form": "ode"}).encode()
    refused({"model.json": older}, "its form must be 'map' or 'rate', got 'ode'")
    pickled = npz(coefficients=np.array([print], dtype=object))
    refused({"arrays.npz": pickled}, "holds object, not numbers")
    refused({"arrays.npz": npz(text=np.array(["a"]))}, "holds <U1, not numbers")
    refused({"arrays.npz": npz(coefficients=np.zeros(1))}, "not the one that")
    refused({"arrays.npz": b"PK"}, "damaged")
    for name in ("../evil.npy", "evil"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(name, b"")
        refused({"arrays.npz": out.getvalue()}, "is not a valid array name")
    # A hundred megabytes of zeros in a hundred kilobytes.
    refused({"arrays.npz": bytes(10**8)}, "more than `max_bytes`", max_bytes=10**7)
    # A shape that would need more memory than there is.
    long = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    np.lib.format.write_array_header_1_0(long, shape)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("coefficients.npy", long.getvalue())
    refused({"arrays.npz": out.getvalue()}, "does not have the length of its shape")


def test_a_wrong_size_does_not_exhaust_memory(tmp_path):
    path = tmp_path / "fit.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", bytes(10**8))
        archive.writestr("arrays.npz", b"")
    content = path.read_bytes()
    path.write_bytes(content.replace((10**8).to_bytes(4, "little"), b"\x0a\0\0\0"))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="Bad CRC-32"):
            storage.read(path)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def test_arrays_of_another_file_are_not_unpacked(tmp_path):
    """A hundred megabytes in a hundred kilobytes, whose hash is another."""
    storage.write(tmp_path / "run", {}, {"a": np.zeros(3)})
    storage.write(tmp_path / "bomb", {}, {"a": np.zeros(12 * 10**6)})
    (tmp_path / "bomb" / "arrays.npz").rename(tmp_path / "run" / "arrays.npz")
    assert (tmp_path / "run" / "arrays.npz").stat().st_size < 10**6
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="is not the one that"):
            storage.read(tmp_path / "run")
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


def storage_differs(changed, good):
    """Whether an archive reads differently; dates, for one, do not matter."""
    try:
        with zipfile.ZipFile(io.BytesIO(changed)) as one:
            found = {name: one.read(name) for name in one.namelist()}
    except Exception:
        return True
    with zipfile.ZipFile(io.BytesIO(good)) as other:
        return found != {name: other.read(name) for name in other.namelist()}


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"got .*nowhere: no such file"):
        storage.read(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"it has no model.json"):
        storage.read(tmp_path)
    with pytest.raises(FileNotFoundError, match="in a folder that exists"):
        storage.write(tmp_path / "no" / "fit.zip", {}, {})
    (tmp_path / "taken").write_text("")
    with pytest.raises(ValueError, match="must be a folder, got a file"):
        storage.write(tmp_path / "taken", {}, {})
    (tmp_path / "fit.zip").mkdir()
    with pytest.raises(ValueError, match="must be a file, got a folder"):
        storage.write(tmp_path / "fit.zip", {}, {})


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"a": [1, np.nan]}, {}, r"`header\['a'\]\[1\]` must be finite, got nan"),
        ({"a": np.float64(1)}, {}, r"`header\['a'\]` must be text.*got float64"),
        ({"a": {1: 2}}, {}, r"`header\['a'\]` must have text as keys, got 1"),
        ({"format": "other/1"}, {}, r"`header\['format'\]` must be 'graphgrad/2'"),
        ({"arrays": 1}, {}, "`header` must have no 'arrays'"),
        ({"form": "map"}, {}, "`header` must have no 'form'.*'dynamics'"),
        ({}, {"a": ["text"]}, r"`arrays\['a'\]` must hold numbers.*got <U4"),
        ({}, {"a": [None]}, r"`arrays\['a'\]` must hold numbers.*got object"),
        ({}, {"../a": [1]}, r"must be named like variables, got '../a'"),
        ({}, {"a": np.zeros(1, np.longdouble)}, "must hold numbers.*got"),
    ],
)
def test_what_cannot_be_stored_exactly_is_refused(tmp_path, header, arrays, message):
    with pytest.raises(ValueError, match=message):
        storage.write(tmp_path / "fit", header, arrays)
    assert members(tmp_path) == []


def test_hashes_depend_on_type_shape_and_bytes():
    zeros = np.zeros((2, 3))
    others = [zeros.astype("f4"), zeros.T, zeros.astype(int), -zeros]
    hashes = [storage.data_hash(array) for array in (zeros, *others)]
    assert len(set(hashes)) == 5
    turned = np.arange(6.0).reshape(2, 3)
    assert storage.data_hash(turned) == storage.data_hash(np.asfortranarray(turned))
    with pytest.raises(ValueError, match="`array` must hold numbers, got object"):
        storage.data_hash([None])


@pytest.fixture
def former(tmp_path):
    """A copy of a fit of format 1, whose header can be changed."""
    folder = tmp_path / "fit"
    shutil.copytree(FIXTURES / "format1-rate", folder)

    def change(**changed):
        path = folder / "model.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
        return folder

    return change


@pytest.mark.parametrize("kind", ["map", "rate", "panel"])
def test_format_1_is_read_as_the_present_one(kind):
    folder = FIXTURES / f"format1-{kind}"
    raw = json.loads((folder / "model.json").read_text())
    header, arrays = storage.read(folder)
    with np.load(folder / "arrays.npz") as stored:
        before = dict(stored)
    assert header["format"] == "graphgrad/2"
    assert "form" not in header
    assert "form" not in header["settings"]
    dynamics = "map" if kind == "map" else "difference"
    assert header["dynamics"] == header["settings"]["dynamics"] == dynamics
    still = np.zeros((2, len(raw["terms"])))
    if kind != "map":
        still[[0, 1], [raw["terms"].index(name) for name in raw["states"]]] = 1
    assert (still.sum() == 2) == (kind != "map")
    assert header["coefficients"] == (np.array(raw["coefficients"]) - still).tolist()
    assert header["coefficients"] == arrays["solution_coefficients"].tolist()
    for name, array in before.items():
        shifted = name in ("solution_coefficients", "solution_base", "solution_path")
        expected = array - still if shifted else array
        np.testing.assert_array_equal(arrays[name], expected)
    assert (arrays["solution_base"] == 0).all()
    ends = np.array(raw["intervals"]["ends"]) - still[..., None]
    assert header["intervals"]["ends"] == ends.tolist()


def test_constraints_of_format_1_are_of_changes():
    header, _ = storage.read(FIXTURES / "format1-panel")
    known, bounds, sign, forbidden = header["constraints"]
    assert np.isclose(known["value"], 0.1)  # of prey itself: 1.1 - 1
    assert np.isclose(bounds["low"], -1)
    assert np.isclose(bounds["high"], -0.03)
    assert sign["sign"] == "-"
    assert forbidden["value"] == 0
    assert header["settings"]["constraints"] == header["constraints"]


def test_a_state_that_merely_stays_does_not_act_on_itself(former):
    """In format 1 the map of a rate said that it does."""
    raw = json.loads((FIXTURES / "format1-rate" / "model.json").read_text())
    rows = np.array(raw["coefficients"])
    rows[1] = [1.0 if term == "fox" else 0.0 for term in raw["terms"]]
    adjacency = [raw["adjacency"][0], [0, 1]]
    folder = former(coefficients=rows.tolist(), adjacency=adjacency)
    assert storage.read(folder)[0]["adjacency"] == [raw["adjacency"][0], [0, 0]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"form": "ode"}, "its form must be 'map' or 'rate', got 'ode'"),
        ({"form": 3}, "its form must be 'map' or 'rate', got 3"),
        ({"states": ["a", "b"]}, "its terms must have the state 'a' for a rate"),
        ({"states": ["a"] * 1000, "terms": ["a"] * 10**5}, "not those of its states"),
        ({"coefficients": "none"}, "not those of its states and terms"),
        ({"states": 3}, "TypeError"),
        ({"settings": {"form": "ode"}}, "its form must be"),
        ({"intervals": {"ends": [1, 2]}}, "intervals are not those of its coef"),
        ({"intervals": 1}, "TypeError"),
    ],
)
def test_headers_of_format_1_that_do_not_fit_are_refused(former, changed, message):
    with pytest.raises(ValueError, match=f"`path` must be a saved fit, .*{message}"):
        storage.read(former(**changed))
