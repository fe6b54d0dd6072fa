// The scene of a report: the bodies at a few frames, turned with the mouse. Lengths are in metres, z is up.
(() => {
  const canvas = document.getElementById("scene");
  if (!canvas) return;

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

  // A buffer of values that the shader reads at `location`: one per instance if `each` is 1, one per vertex if it is 0.
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

  // The rows of some bodies, each repeated `times` times.
  function rows(all, size, bodies, times, Kind) {
    const some = new Kind(bodies.length * times * size);
    let to = 0;
    for (const body of bodies)
      for (let k = 0; k < times; k++, to += size) some.set(all.subarray(body * size, (body + 1) * size), to);
    return some;
  }

  // The spheres of all bodies of one species. `place` moves them, given position and orientation of all bodies.
  function balls(gl, species, colour) {
    const bodies = decoded(species.bodies, Uint32Array), local = decoded(species.spheres, Float32Array);
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

  // The bodies of one species, each a copy of a surface.
  function surfaces(gl, species, colour) {
    const bodies = decoded(species.bodies, Uint32Array), faces = decoded(species.faces, Uint16Array);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, 0, decoded(species.points, Float32Array), 3, 0);
    attribute(gl, 1, decoded(species.normals, Int8Array), 3, 0, 4);
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

  // A function that draws points in one colour.
  function plain(gl, points, mode) {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attribute(gl, 0, new Float32Array(points), 3, 0);
    return () => {
      gl.bindVertexArray(array);
      gl.drawArrays(mode, 0, points.length / 3);
    };
  }

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

  // A wall: a surface just behind its outline.
  function patch(gl, { points, normal }, size) {
    const behind = points.map((point) => point.map((value, k) => value - 1e-3 * size * normal[k]));
    return {
      normal,
      height: dot(normal, points[0]),
      outline: plain(gl, points.flat(), gl.LINE_LOOP),
      surface: plain(gl, behind.flat(), gl.TRIANGLE_FAN),
    };
  }

  // The twelve edges of the box: from each corner along each direction in which it is the lower end.
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
    const programs = Object.fromEntries(
      Object.entries(SHADERS).map(([name, [vertex, pixel]]) => [name, program(gl, vertex, pixel)]));
    const parts = data.species.map((species) => (species.faces ? surfaces : balls)(gl, species, colour));
    const walls = data.frames.map((own) => own.walls.map((wall) => patch(gl, wall, data.size)));
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

    // Walls are seen from the side of the bodies only, so that they hide none; their outlines are always drawn.
    function drawWalls(back, front) {
      const { paint } = use("plain");
      const away = (2 * data.size) / camera.zoom, cu = Math.cos(camera.up);
      const towards = [cu * Math.cos(camera.round), cu * Math.sin(camera.round), Math.sin(camera.up)];
      const eye = data.frames[frame].middle.map((value, k) => value + away * towards[k]);
      for (const { normal, height, outline, surface } of walls[frame]) {
        const light = 0.78 + 0.12 * normal[2];  // a floor is as light as that of a box
        gl.uniform3fv(paint, back.map((value, k) => light * value + (1 - light) * front[k]));
        if (dot(normal, eye) > height) surface();
        gl.uniform3fv(paint, front);
        outline();
      }
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
      drawWalls(back, front);
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

    const fingers = new Map();  // positions of the fingers on the screen, or of the mouse
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
    canvas.addEventListener("webglcontextlost", () => instead("The browser has discarded the scene; reload the page."));
    show(0);
    const still = document.getElementById("still");
    if (still) still.hidden = true;
  }

  try {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, preserveDrawingBuffer: true });  // kept: for printing
    if (gl) start(gl);
    else instead("The scene needs WebGL 2, but this browser has no WebGL 2; a still picture is shown if there is one.");
  } catch (error) {
    instead(`The scene cannot be drawn here (${error.message}).`);
    console.error(error);
  }
})();
