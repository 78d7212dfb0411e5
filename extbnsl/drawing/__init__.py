"""What people see: networks and charts as SVG, tables of texts, and the style of all pages."""
