"""How bodies are lit: soft light that leaves no side black, in the shaders of VTK."""

from typing import Any

# One lamp at the upper right of the camera. A side that faces away from it has 0.49 of its colour, one that faces it all of
# it, so that colours that stand for numbers can be read everywhere.
SOFT = """
  vec3 lamp = normalize(vec3(0.4, 0.85, 0.6));
  float facing = 0.5 + 0.5 * dot(normalVCVSOutput, lamp);
  float shade = (0.58 + 0.52 * facing * sqrt(facing)) * (0.84 + 0.16 * normalVCVSOutput.z);
  float gloss = pow(max(dot(normalVCVSOutput, normalize(lamp + vec3(0.0, 0.0, 1.0))), 0.0), 45.0);
  gl_FragData[0] = vec4(min(shade * diffuseColor + 0.16 * gloss, 1.0), opacity);
"""

# VTK draws a sphere within a triangle about the circle of its own radius. In perspective the outline of a sphere is larger
# than that circle, so that three sides are cut off; the triangle must grow as the outline does.
CORNER = "offset.x*base1 + offset.y*base2"
WIDER = (
    "(cameraParallel != 0 ? 1.0 : inversesqrt(max(1e-6, 1.0 - radiusVCGSOutput * radiusVCGSOutput"
    f" / dot(gl_in[0].gl_Position.xyz, gl_in[0].gl_Position.xyz)))) * ({CORNER})"
)


def light_softly(actor: Any) -> None:
    """Light the surface of an actor with the soft lamp, instead of the lights of its scene."""
    # Behind the lights of VTK, because shadows need what it writes there.
    after = "//VTK::TCoord::Impl"
    actor.GetProperty().SetDiffuse(1.0)
    actor.GetShaderProperty().AddFragmentShaderReplacement(after, True, SOFT + after, False)


def draw_whole(actor: Any) -> None:
    """Let no sphere of a vtkOpenGLSphereMapper be cut off, however near the camera is."""
    actor.GetShaderProperty().AddGeometryShaderReplacement(CORNER, True, WIDER, True)
