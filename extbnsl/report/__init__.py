"""Reports on campaigns: tables, pictures and a page, from rows of results."""
