"use strict";
// The shaders of scene.js: vertex and fragment shader of each program.
const SHADERS = (() => {
  const VIEW = `#version 300 es
    precision highp float;
    uniform mat3 turn;       // world -> view
    uniform vec3 target;     // point that the camera looks at
    uniform float away;      // distance of the camera from there
    uniform vec4 lens;       // scales of x and y, and two coefficients of the depth
    vec3 seen(vec3 place) { return turn * (place - target) - vec3(0.0, 0.0, away); }
    vec4 projected(vec3 view) { return vec4(lens.xy * view.xy, lens.z * view.z + lens.w, -view.z); }
  `;
  // The soft light of views/shading.py: one lamp at the upper right of the camera, and no side is black.
  const LIGHT = `
    vec3 lit(vec3 colour, vec3 normal, vec3 eye) {
      vec3 lamp = normalize(vec3(0.4, 0.85, 0.6));
      float facing = 0.5 + 0.5 * dot(normal, lamp);
      float shade = (0.58 + 0.52 * facing * sqrt(facing)) * (0.84 + 0.16 * max(dot(normal, eye), 0.0));
      float gloss = pow(max(dot(normal, normalize(lamp + eye)), 0.0), 45.0);
      return min(shade * colour + 0.16 * gloss, 1.0);
    }
  `;

  // A sphere is drawn as a square that faces the camera; each pixel is tested for whether its line of sight hits the sphere.
  const BALL_VERTEX = `${VIEW}
    layout(location = 0) in vec2 corner;
    layout(location = 1) in vec4 ball;  // centre and radius
    layout(location = 2) in vec3 colour;
    out vec3 place;
    flat out vec3 centre;
    flat out float radius;
    flat out vec3 paint;
    void main() {
      centre = seen(ball.xyz);
      radius = ball.w;
      paint = colour;
      float far = length(centre);
      vec3 ahead = centre / far;
      vec3 right = normalize(cross(ahead, abs(ahead.y) < 0.9 ? vec3(0, 1, 0) : vec3(1, 0, 0)));
      float half_width = 1.05 * radius * far / sqrt(max(far * far - radius * radius, 1e-6 * far * far));
      place = centre + half_width * (corner.x * right + corner.y * cross(right, ahead));
      gl_Position = projected(place);
    }
  `;
  const BALL_PIXEL = `${VIEW} ${LIGHT}
    in vec3 place;
    flat in vec3 centre;
    flat in float radius;
    flat in vec3 paint;
    out vec4 result;
    void main() {
      vec3 ray = normalize(place);
      vec3 nearest = dot(ray, centre) * ray - centre;  // from the centre to the nearest point of the line of sight
      float miss = length(nearest) / radius;
      float cover = clamp(0.5 + (1.0 - miss) / max(fwidth(miss), 1e-6), 0.0, 1.0);  // fraction of the pixel that the sphere covers
      if (cover <= 0.0) discard;
      vec3 normal = nearest / radius - sqrt(max(1.0 - miss * miss, 0.0)) * ray;
      vec4 clip = projected(centre + radius * normal);
      gl_FragDepth = 0.5 + 0.5 * clip.z / clip.w;
      result = vec4(lit(paint, normalize(normal), -ray), cover);
    }
  `;
  const SURFACE_VERTEX = `${VIEW}
    layout(location = 0) in vec3 point;
    layout(location = 1) in vec3 normal;
    layout(location = 2) in vec3 position;     // of the body
    layout(location = 3) in vec4 orientation;  // w, x, y, z
    layout(location = 4) in vec3 colour;
    out vec3 place;
    out vec3 upright;
    flat out vec3 paint;
    vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.yzw, cross(q.yzw, v) + q.x * v); }
    void main() {
      place = seen(position + turned(orientation, point));
      upright = turn * turned(orientation, normal);
      paint = colour;
      gl_Position = projected(place);
    }
  `;
  const SURFACE_PIXEL = `${VIEW} ${LIGHT}
    in vec3 place;
    in vec3 upright;
    flat in vec3 paint;
    out vec4 result;
    void main() { result = vec4(lit(paint, normalize(upright), -normalize(place)), 1.0); }
  `;
  const PLAIN_VERTEX = `${VIEW}
    layout(location = 0) in vec3 point;
    void main() { gl_Position = projected(seen(point)); }
  `;
  const PLAIN_PIXEL = `${VIEW}
    uniform vec3 paint;
    out vec4 result;
    void main() { result = vec4(paint, 1.0); }
  `;

  return {
    ball: [BALL_VERTEX, BALL_PIXEL],
    surface: [SURFACE_VERTEX, SURFACE_PIXEL],
    plain: [PLAIN_VERTEX, PLAIN_PIXEL],
  };
})();
