import Foundation

/// Directories of databases, removed with this object.
final class Directories {
    private let root: URL
    private var count = 0

    init() throws {
        // In memory where there is such a place: every commit waits for the disk otherwise.
        let shared = URL(fileURLWithPath: "/dev/shm")
        let isWritable = FileManager.default.isWritableFile(atPath: shared.path)
        let base = isWritable ? shared : FileManager.default.temporaryDirectory
        self.root = base.appendingPathComponent("peerd-agreement-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.root, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.root) }

    func next() -> String {
        self.count += 1
        return self.root.appendingPathComponent("\(self.count)").path
    }
}
