package import Engine

/// The blobs of a machine on its simulated disk: every call may fail or be the last one, and a power cut takes back
/// what was not synced, of names as of bytes.
package struct SimulatedBlobDisk: BlobDisk {
    private let disk: SimulatedDisk

    /// What the names of these files begin with on the disk.
    fileprivate static let prefix = "media/"

    package init(on disk: SimulatedDisk) { self.disk = disk }

    package func byteCount(of file: BlobFile) throws(BlobDiskFailure) -> UInt64? {
        try self.enter(.open)
        return self.disk.file(file.simulatedName).map { UInt64($0.content.count) }
    }

    package func read(_ file: BlobFile, at offset: UInt64, count: Int) throws(BlobDiskFailure) -> [UInt8] {
        try self.enter(.read)
        guard let found = self.disk.file(file.simulatedName) else { throw .absent }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = bytes.withUnsafeMutableBytes { found.read(into: $0, from: Int(offset)) }
        bytes.removeLast(count - read)
        return bytes
    }

    package func write(_ bytes: [UInt8], to file: BlobFile, at offset: UInt64) throws(BlobDiskFailure) {
        try self.enter(.write)
        let found = self.disk.file(file.simulatedName)
        let growth = max(0, Int(offset) + bytes.count - (found?.content.count ?? 0))
        guard growth == 0 || self.disk.mayGrow(by: growth) else { throw .full }
        let written = found ?? self.disk.makeFile(file.simulatedName, in: file.folder.name)
        bytes.withUnsafeBytes { written.write($0, at: Int(offset)) }
    }

    package func sync(_ file: BlobFile) throws(BlobDiskFailure) {
        try self.enter(.sync)
        guard let found = self.disk.file(file.simulatedName) else { throw .absent }
        self.disk.sync(found)
    }

    package func syncFolder(_ folder: BlobFile.Folder) throws(BlobDiskFailure) {
        try self.enter(.sync)
        self.disk.syncNames(in: folder.name)
    }

    package func rename(_ file: BlobFile, to new: BlobFile) throws(BlobDiskFailure) {
        try self.enter(.remove)
        let folders = [file.folder.name, new.folder.name]
        guard self.disk.rename(file.simulatedName, to: new.simulatedName, in: folders) else { throw .absent }
    }

    package func remove(_ file: BlobFile) throws(BlobDiskFailure) {
        try self.enter(.remove)
        self.disk.remove(file.simulatedName, in: file.folder.name)
    }

    package func files(in folder: BlobFile.Folder) throws(BlobDiskFailure) -> [BlobFile] {
        try self.enter(.open)
        let start = Self.prefix + folder.name + "/"
        return self.disk.files.keys.sorted().filter { $0.hasPrefix(start) }
            .compactMap { BlobFile(name: String($0.dropFirst(start.count)), in: folder) }
    }

    private func enter(_ call: DiskCall) throws(BlobDiskFailure) {
        guard self.disk.enters(call) else { throw .failed("the disk failed") }
    }
}

extension BlobFile {
    fileprivate var simulatedName: String { SimulatedBlobDisk.prefix + self.path }
}
