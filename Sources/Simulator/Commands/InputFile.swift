internal import ArgumentParser
internal import Foundation
internal import Simulation

/// Files that commands read.
enum InputFile {
    private static let chunkByteCount = 1 << 16

    static func text(at path: String) throws -> String {
        guard let file = fopen(path, "r") else { throw self.unreadable(path) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: InputFile.chunkByteCount)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
        guard ferror(file) == 0 else { throw self.unreadable(path) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError("“\(path)” is no text in UTF-8.")
        }
        return text
    }

    /// The names of the scenario files in a folder, in order.
    static func scenarioNames(in folder: String) throws -> [String] {
        guard let handle = opendir(folder) else { throw self.unreadable(folder) }
        closedir(handle)
        return try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".scn") }.sorted()
    }

    private static func unreadable(_ path: String) -> ValidationError {
        ValidationError("“\(path)” cannot be read: \(String(cString: strerror(errno))).")
    }
}
