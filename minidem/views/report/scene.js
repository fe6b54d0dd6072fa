"use strict";
// The scene of a report: bodies at a few moments, seen from where the mouse turns them. Lengths are in metres, z is up.
(() => {
  const canvas = document.getElementById("scene");
  if (!canvas) return;

  const VIEW = `#version 300 es
    precision highp float;
    uniform mat3 turn;       // world -> view
    uniform vec3 target;     // what the camera looks at
    uniform float away;      // its distance from there
    uniform vec4 lens;       // x, y, and two numbers that make the depth
    vec3 seen(vec3 place) { return turn * (place - target) - vec3(0.0, 0.0, away); }
    vec4 projected(vec3 view) { return vec4(lens.xy * view.xy, lens.z * view.z + lens.w, -view.z); }
  `;
  // A lamp over the right shoulder of who looks, a weaker one from the left, and a third from behind.
  const LIGHT = `
    vec3 lamp(vec3 colour, vec3 normal, vec3 eye, vec3 from, float strength) {
      vec3 towards = normalize(from);
      float gloss = pow(max(dot(normal, normalize(towards + eye)), 0.0), 40.0);
      return strength * (colour * max(dot(normal, towards), 0.0) + 0.3 * gloss);
    }
    vec3 lit(vec3 colour, vec3 normal, vec3 eye) {
      return 0.22 * colour
        + lamp(colour, normal, eye, vec3(0.5, 1.2, 1.0), 0.7)
        + lamp(colour, normal, eye, vec3(-1.2, 0.2, 0.7), 0.25)
        + lamp(colour, normal, eye, vec3(0.3, 0.4, -1.0), 0.15);
    }
  `;

  // A sphere is a square that faces the camera and is just large enough; which of its pixels are seen is worked out for each.
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
      vec3 nearest = dot(ray, centre) * ray - centre;  // from the centre to the line of sight
      float miss = length(nearest) / radius;
      float cover = clamp(0.5 + (1.0 - miss) / max(fwidth(miss), 1e-6), 0.0, 1.0);  // of the pixel, at the rim
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

  function decoded(text, Kind) {
    return new Kind(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  }

  function instead(message) {
    const words = document.getElementById("no-scene");
    words.textContent = message;
    words.hidden = false;
    for (const id of ["scene", "controls", "help"]) document.getElementById(id).hidden = true;
    const still = document.getElementById("still");
    if (still) still.hidden = false;
  }

  function program(gl, vertex, pixel) {
    const whole = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, pixel]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(whole, shader);
    }
    gl.linkProgram(whole);
    if (!gl.getProgramParameter(whole, gl.LINK_STATUS)) throw new Error(`shader: ${gl.getProgramInfoLog(whole)}`);
    const names = ["turn", "target", "away", "lens", "paint"];
    return { whole, uniforms: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(whole, name)])) };
  }

  // A buffer of values that the shader reads at `location`; `each` 1 for a value an instance, 0 for one a vertex.
  function attribute(gl, location, values, size, each, stride = 0) {
    const kinds = { Float32Array: [gl.FLOAT, false], Uint8Array: [gl.UNSIGNED_BYTE, true], Int8Array: [gl.BYTE, true] };
    const [kind, normalised] = kinds[values.constructor.name];
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, kind, normalised, stride, 0);
    gl.vertexAttribDivisor(location, each);
    return buffer;
  }

  function refill(gl, buffer, values) {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, values);
  }

  // Rows of some bodies, one after the other, each `times` times.
  function rows(all, size, bodies, times, Kind) {
    const some = new Kind(bodies.length * times * size);
    let to = 0;
    for (const body of bodies)
      for (let k = 0; k < times; k++, to += size) some.set(all.subarray(body * size, (body + 1) * size), to);
    return some;
  }

  // All spheres of the bodies of one kind. `place(position, orientation)` of all bodies of the scene moves them.
  function balls(gl, kind, colour) {
    const bodies = decoded(kind.bodies, Uint32Array), local = decoded(kind.spheres, Float32Array);
    const count = local.length / 4, where = new Float32Array(bodies.length * local.length);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, 0, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), 2, 0);
    const buffer = attribute(gl, 1, where, 4, 1);
    attribute(gl, 2, rows(colour, 3, bodies, count, Uint8Array), 3, 1);
    return {
      program: "ball",
      place(position, orientation) {
        let to = 0;
        for (const body of bodies) {
          const [px, py, pz] = position.subarray(3 * body, 3 * body + 3);
          const [w, x, y, z] = orientation.subarray(4 * body, 4 * body + 4);
          for (let from = 0; from < local.length; from += 4, to += 4) {
            const a = local[from], b = local[from + 1], c = local[from + 2];
            const u = y * c - z * b + w * a, v = z * a - x * c + w * b, t = x * b - y * a + w * c;
            where[to] = px + a + 2 * (y * t - z * v);
            where[to + 1] = py + b + 2 * (z * u - x * t);
            where[to + 2] = pz + c + 2 * (x * v - y * u);
            where[to + 3] = local[from + 3];
          }
        }
        refill(gl, buffer, where);
      },
      draw() {
        gl.bindVertexArray(array);
        gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, bodies.length * count);
      },
    };
  }

  // Bodies of one kind, each a copy of a surface.
  function surfaces(gl, kind, colour) {
    const bodies = decoded(kind.bodies, Uint32Array), faces = decoded(kind.faces, Uint16Array);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, 0, decoded(kind.points, Float32Array), 3, 0);
    attribute(gl, 1, decoded(kind.normals, Int8Array), 3, 0, 4);
    const positions = attribute(gl, 2, new Float32Array(3 * bodies.length), 3, 1);
    const orientations = attribute(gl, 3, new Float32Array(4 * bodies.length), 4, 1);
    attribute(gl, 4, rows(colour, 3, bodies, 1, Uint8Array), 3, 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return {
      program: "surface",
      place(position, orientation) {
        refill(gl, positions, rows(position, 3, bodies, 1, Float32Array));
        refill(gl, orientations, rows(orientation, 4, bodies, 1, Float32Array));
      },
      draw() {
        gl.bindVertexArray(array);
        gl.drawElementsInstanced(gl.TRIANGLES, faces.length, gl.UNSIGNED_SHORT, 0, bodies.length);
      },
    };
  }

  function plain(gl, points, mode) {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, 0, new Float32Array(points), 3, 0);
    return () => {
      gl.bindVertexArray(array);
      gl.drawArrays(mode, 0, points.length / 3);
    };
  }

  // The twelve edges: from each corner along each direction in which it is the lower end.
  function edges(box) {
    const points = [];
    for (let corner = 0; corner < 8; corner++)
      for (let along = 0; along < 3; along++)
        if (!((corner >> along) & 1))
          for (const end of [corner, corner | (1 << along)])
            for (let k = 0; k < 3; k++) points.push((end >> k) & 1 ? box[k] : 0);
    return points;
  }

  function start(gl) {
    const data = JSON.parse(document.getElementById("scene-data").textContent);
    const position = decoded(data.position, Float32Array), orientation = decoded(data.orientation, Float32Array);
    const colour = decoded(data.colour, Uint8Array), bodies = colour.length / 3;
    const programs = {
      ball: program(gl, BALL_VERTEX, BALL_PIXEL),
      surface: program(gl, SURFACE_VERTEX, SURFACE_PIXEL),
      plain: program(gl, PLAIN_VERTEX, PLAIN_PIXEL),
    };
    const parts = data.kinds.map((kind) => (kind.faces ? surfaces : balls)(gl, kind, colour));
    let outline = null, floor = null;
    if (data.box) {
      const [x, y, z] = data.box, low = -2e-3 * z;
      outline = plain(gl, edges(data.box), gl.LINES);
      floor = plain(gl, [0, 0, low, x, 0, low, 0, y, low, x, y, low], gl.TRIANGLE_STRIP);
    }
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.SAMPLE_ALPHA_TO_COVERAGE);  // smooth rims of spheres

    const first = { round: Math.atan2(-1.6, 1.0), up: Math.atan2(0.75, Math.hypot(1.0, 1.6)), zoom: 1.0 };
    const camera = { ...first };
    let frame = 0, waiting = false;

    function use(name) {
      const { whole, uniforms } = programs[name];
      gl.useProgram(whole);
      const wide = canvas.width / canvas.height, focus = 1 / Math.tan(Math.PI / 12);  // 30 degrees across the shorter side
      const away = (2 * data.size) / camera.zoom, near = Math.max(away - data.size, 0.02 * away), far = away + data.size;
      const s = Math.sin(camera.round), c = Math.cos(camera.round), su = Math.sin(camera.up), cu = Math.cos(camera.up);
      gl.uniformMatrix3fv(uniforms.turn, false, [-s, -su * c, cu * c, c, -su * s, cu * s, 0, cu, su]);
      gl.uniform3fv(uniforms.target, data.frames[frame].middle);
      gl.uniform1f(uniforms.away, away);
      const depth = [(near + far) / (near - far), (2 * near * far) / (near - far)];
      gl.uniform4f(uniforms.lens, focus / Math.max(wide, 1), focus * Math.min(wide, 1), ...depth);
      return uniforms;
    }

    function css(name) {
      return getComputedStyle(canvas)[name].match(/[\d.]+/g).slice(0, 3).map((value) => value / 255);
    }

    function draw() {
      waiting = false;
      const sharp = Math.min(window.devicePixelRatio || 1, 2);
      const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.max(1, Math.round(size * sharp)));
      if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
      gl.viewport(0, 0, canvas.width, canvas.height);
      const back = css("backgroundColor"), front = css("color");
      gl.clearColor(...back, 1);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      if (outline) {
        const { paint } = use("plain");
        gl.uniform3fv(paint, back.map((value, k) => 0.9 * value + 0.1 * front[k]));
        if (camera.up > 0) floor();
        gl.uniform3fv(paint, front);
        outline();
      }
      for (const part of parts) {
        use(part.program);
        part.draw();
      }
    }

    function redraw() {
      if (!waiting) requestAnimationFrame(draw);
      waiting = true;
    }

    const slider = document.getElementById("frame"), words = document.getElementById("when");
    function show(number) {
      frame = number;
      slider.value = number;
      const own = data.frames[frame];
      words.textContent = `t = ${Number(own.time.toPrecision(4))} s (frame ${own.number} of ${data.last})`;
      const [from, to] = [frame * bodies, (frame + 1) * bodies];
      for (const part of parts)
        part.place(position.subarray(3 * from, 3 * to), orientation.subarray(4 * from, 4 * to));
      redraw();
    }

    function turn(round, up) {
      camera.round -= round;
      camera.up = Math.max(-1.55, Math.min(1.55, camera.up + up));
      redraw();
    }

    function zoom(factor) {
      camera.zoom = Math.max(0.2, Math.min(30, camera.zoom * factor));
      redraw();
    }

    const fingers = new Map();  // that are down, or the mouse
    function gap() {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.x - b.x, a.y - b.y) || 1;
    }
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const apart = fingers.size > 1 ? gap() : 0;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (apart) zoom(gap() / apart);
      else turn(0.008 * (event.clientX - before.x), 0.008 * (event.clientY - before.y));
    });
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(Math.exp(-0.0015 * event.deltaY));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.1;
      const keys = {
        ArrowLeft: () => turn(-step, 0), ArrowRight: () => turn(step, 0), ArrowUp: () => turn(0, -step),
        ArrowDown: () => turn(0, step), "+": () => zoom(1.15), "-": () => zoom(1 / 1.15),
      };
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });

    slider.max = data.frames.length - 1;
    slider.addEventListener("input", () => show(Number(slider.value)));
    const step = (by) => show((frame + by + data.frames.length) % data.frames.length);
    document.getElementById("earlier").addEventListener("click", () => step(-1));
    document.getElementById("later").addEventListener("click", () => step(1));
    document.getElementById("reset").addEventListener("click", () => {
      Object.assign(camera, first);
      redraw();
    });
    for (const id of ["frame", "earlier", "later"]) document.getElementById(id).disabled = data.frames.length < 2;
    for (const id of ["scene", "controls", "help"]) document.getElementById(id).hidden = false;
    new ResizeObserver(redraw).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    canvas.addEventListener("webglcontextlost", () => instead("The browser has given up the scene; load the page anew."));
    show(0);
    const still = document.getElementById("still");
    if (still) still.hidden = true;
  }

  try {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, preserveDrawingBuffer: true });  // kept: for printing
    if (gl) start(gl);
    else instead("This browser has no WebGL 2, which the scene needs; a still picture stands in for it, if there is one.");
  } catch (error) {
    instead(`The scene cannot be drawn here (${error.message}).`);
    console.error(error);
  }
})();
