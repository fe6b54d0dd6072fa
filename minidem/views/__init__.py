"""Figures, pictures, films, reports and exports. Views read files; they never load a kernel."""
