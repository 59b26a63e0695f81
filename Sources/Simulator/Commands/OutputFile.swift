internal import ArgumentParser
internal import Glibc
internal import Simulation

/// Files that commands write.
enum OutputFile {
    static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw ValidationError("“\(path)” cannot be written: \(String(cString: strerror(errno))).")
        }
        let bytes = Array(text.utf8)
        let written = fwrite(bytes, 1, bytes.count, file)
        guard fclose(file) == 0, written == bytes.count else {
            throw ValidationError("“\(path)” could not be written whole: \(String(cString: strerror(errno))).")
        }
    }
}
