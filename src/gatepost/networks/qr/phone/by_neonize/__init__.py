"""The engine neonize: whatsmeow as a native library inside of this process."""
