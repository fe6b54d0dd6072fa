"""VTK XML files and a .pvd collection, for ParaView."""

import re
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ...files.whole import write_whole
from .cloud import Cloud

NOT_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # what the .pvd cannot hold


def write_vtp(cloud: Cloud, path: Path) -> list[Path]:
    """Write a .vtp file for each frame, in a directory of their own, and the .pvd that lists them with their times."""
    import pyvista
    from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

    series = series_of(path)
    series.mkdir(exist_ok=True)
    stem = NOT_XML.sub("_", path.stem)
    number = re.compile(re.escape(stem) + r"_\d+\.vtp")
    for old in [file for file in series.iterdir() if number.fullmatch(file.name)]:
        old.unlink()
    digits = max(4, len(str(cloud.frames[-1])))
    files, entries = [], []
    for snapshot in cloud:
        mesh = pyvista.PolyData(snapshot.position)
        for name, values in (cloud.fixed | snapshot.moving).items():
            mesh.point_data[name] = values
        mesh.field_data["TimeValue"], mesh.field_data["species_names"] = [snapshot.time], cloud.ascii_names
        if cloud.box is not None:
            mesh.field_data["box"] = cloud.box[None]
        file = series / f"{stem}_{snapshot.frame:0{digits}}.vtp"
        writer = vtkXMLPolyDataWriter()
        writer.WriteToOutputStringOn()  # VTK changes file names that are not UTF-8
        writer.SetInputData(mesh)
        writer.EncodeAppendedDataOff()
        if not writer.Write() or writer.GetErrorCode():
            raise OSError(f"{file} was not written completely")
        content = writer.GetOutputString()
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        files.append(file)
        entries.append(f'    <DataSet timestep="{snapshot.time!r}" file={quoteattr(f"{series.name}/{file.name}")}/>')
    lines = ['<?xml version="1.0"?>', '<VTKFile type="Collection" version="0.1">', "  <Collection>", *entries]
    write_whole(path, "\n".join([*lines, "  </Collection>", "</VTKFile>"]) + "\n")
    return [path, *files]


def series_of(path: Path) -> Path:
    """The directory of the frames of NAME.pvd: NAME_frames, as NAME itself may be a run directory."""
    return path.with_name(f"{NOT_XML.sub('_', path.stem)}_frames")
