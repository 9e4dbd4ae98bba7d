"""The engine neonize: whatsmeow as a native library in this process."""
