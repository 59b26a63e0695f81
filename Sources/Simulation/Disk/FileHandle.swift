import CSQLite

/// One file that a process has open.
///
/// It is dead once the process has ended, whatever SQLite still tries.
package final class FileHandle {
    private let disk: SimulatedDisk
    private let file: DiskFile
    private let epoch: Int
    /// The index of the write-ahead log: memory that processes share, gone with the last of them.
    private var sharedRegions: [UnsafeMutableRawBufferPointer] = []

    private static let sectorByteCount: Int32 = 4096

    package init(disk: SimulatedDisk, file: DiskFile) {
        self.disk = disk
        self.file = file
        self.epoch = disk.epoch
    }

    deinit { self.unmapShared() }

    private var isAlive: Bool { self.disk.isOn && self.epoch == self.disk.epoch }

    // MARK: - Calls

    private func read(_ target: UnsafeMutableRawBufferPointer, from offset: Int) -> Int32 {
        guard self.isAlive, self.disk.enters(.read) else { return ResultCode.read }
        let count = self.file.read(into: target, from: offset)
        guard count < target.count else { return SQLITE_OK }
        UnsafeMutableRawBufferPointer(rebasing: target[count...]).initializeMemory(as: UInt8.self, repeating: 0)
        return ResultCode.shortRead
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        guard self.isAlive, self.disk.enters(.write) else { return ResultCode.write }
        let growth = offset + bytes.count - self.file.content.count
        if growth > 0, !self.disk.mayGrow(by: growth) { return SQLITE_FULL }
        self.file.write(bytes, at: offset)
        return SQLITE_OK
    }

    private func truncate(to byteCount: Int) -> Int32 {
        guard self.isAlive, self.disk.enters(.truncate) else { return ResultCode.truncate }
        self.file.truncate(to: byteCount)
        return SQLITE_OK
    }

    private func sync() -> Int32 {
        guard self.isAlive, self.disk.enters(.sync) else { return ResultCode.sync }
        self.disk.sync(self.file)
        return SQLITE_OK
    }

    private func mapShared(_ region: Int, byteCount: Int, extends: Bool) -> (Int32, UnsafeMutableRawPointer?) {
        guard self.isAlive else { return (ResultCode.sharedMap, nil) }
        while self.sharedRegions.count <= region {
            guard extends else { return (SQLITE_OK, nil) }
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            self.sharedRegions.append(memory)
        }
        return (SQLITE_OK, self.sharedRegions[region].baseAddress)
    }

    private func unmapShared() {
        for region in self.sharedRegions { region.deallocate() }
        self.sharedRegions = []
    }

    // MARK: - As SQLite calls them

    /// The table of functions that SQLite calls on an open file.
    static func ioMethods() -> sqlite3_io_methods {
        var methods = sqlite3_io_methods()
        methods.iVersion = 2
        methods.xClose = { file in
            FileHandle.unmanaged(file).release()
            return SQLITE_OK
        }
        methods.xRead = { file, target, count, offset in
            let buffer = UnsafeMutableRawBufferPointer(start: target, count: Int(count))
            return FileHandle.of(file).read(buffer, from: Int(offset))
        }
        methods.xWrite = { file, source, count, offset in
            let buffer = UnsafeRawBufferPointer(start: source, count: Int(count))
            return FileHandle.of(file).write(buffer, at: Int(offset))
        }
        methods.xTruncate = { file, byteCount in FileHandle.of(file).truncate(to: Int(byteCount)) }
        methods.xSync = { file, _ in FileHandle.of(file).sync() }
        methods.xFileSize = { file, byteCount in
            byteCount?.pointee = sqlite3_int64(FileHandle.of(file).file.content.count)
            return SQLITE_OK
        }
        // One connection has a file at a time, so that nobody else's locks are in the way.
        methods.xLock = { file, _ in FileHandle.of(file).isAlive ? SQLITE_OK : ResultCode.lock }
        methods.xUnlock = { _, _ in SQLITE_OK }
        methods.xCheckReservedLock = { _, result in
            result?.pointee = 0
            return SQLITE_OK
        }
        methods.xFileControl = { _, _, _ in SQLITE_NOTFOUND }
        methods.xSectorSize = { _ in FileHandle.sectorByteCount }
        methods.xDeviceCharacteristics = { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        methods.xShmMap = { file, region, byteCount, extends, pointer in
            let (code, memory) = FileHandle.of(file)
                .mapShared(Int(region), byteCount: Int(byteCount), extends: extends != 0)
            pointer?.pointee = memory
            return code
        }
        methods.xShmLock = { file, _, _, _ in FileHandle.of(file).isAlive ? SQLITE_OK : ResultCode.sharedLock }
        methods.xShmBarrier = { _ in }
        methods.xShmUnmap = { file, _ in
            FileHandle.of(file).unmapShared()
            return SQLITE_OK
        }
        return methods
    }

    private static func unmanaged(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Unmanaged<FileHandle> {
        guard let file else { preconditionFailure("SQLite passes the file") }
        return UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenVirtualFile.self).pointee.handle
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> FileHandle {
        self.unmanaged(file).takeUnretainedValue()
    }
}
