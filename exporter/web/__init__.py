"""The HTTP edge: addresses, routes, pages, the server. Shows a Scene and changes nothing; imports no source and no configuration."""
