"""Plain data that both houses share, versioned. Control writes it, gateways and bridges read it."""
