import CSQLite
internal import Persistence

/// A SQLite file system over a simulated disk, registered with SQLite under a name of its own as long as it lives.
///
/// Its randomness, clock and sleep are the disk's, so that a run is the same each time it is made.
final class VirtualFileSystem {
    let disk: SimulatedDisk
    /// The name to open databases with.
    let name: String
    private let registration: UnsafeMutablePointer<sqlite3_vfs>
    private let registeredName: UnsafeMutablePointer<CChar>
    let methods: UnsafeMutablePointer<sqlite3_io_methods>
    private var random: LossGenerator

    private static let pathByteCountMax = 512

    /// The database of a machine in it.
    func database(endedUncleanly: Bool = false) -> VirtualDatabase {
        VirtualDatabase(fileSystem: self.name, path: Machine.databasePath, endedUncleanly: endedUncleanly)
    }

    init(disk: SimulatedDisk, seed: UInt64) {
        self.disk = disk
        self.random = LossGenerator(seed: seed)
        self.registration = .allocate(capacity: 1)
        self.methods = .allocate(capacity: 1)
        // The address is unlike any other's while this lives. The name never reaches anything that is recorded.
        self.name = "simulated-\(UInt(bitPattern: self.registration))"
        let characters = self.name.utf8CString
        self.registeredName = .allocate(capacity: characters.count)
        self.registeredName.initialize(from: Array(characters), count: characters.count)
        self.methods.initialize(to: FileHandle.ioMethods())
        self.registration.initialize(to: sqlite3_vfs())
        self.fillIn()
        precondition(sqlite3_vfs_register(self.registration, 0) == SQLITE_OK, "SQLite takes every file system")
    }

    deinit {
        sqlite3_vfs_unregister(self.registration)
        self.registration.deallocate()
        self.registeredName.deallocate()
        self.methods.deallocate()
    }

    private func fillIn() {
        self.registration.pointee.iVersion = 2
        self.registration.pointee.szOsFile = Int32(MemoryLayout<OpenVirtualFile>.size)
        self.registration.pointee.mxPathname = Int32(VirtualFileSystem.pathByteCountMax)
        self.registration.pointee.zName = UnsafePointer(self.registeredName)
        self.registration.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        self.registration.pointee.xOpen = { vfs, name, file, flags, outFlags in
            VirtualFileSystem.of(vfs).open(name, file, flags, outFlags)
        }
        self.registration.pointee.xDelete = { vfs, name, _ in
            let system = VirtualFileSystem.of(vfs)
            if !system.disk.enters(.remove) { return ResultCode.delete }
            guard let name, system.disk.file(String(cString: name)) != nil else { return ResultCode.nothingToDelete }
            system.disk.remove(String(cString: name))
            return SQLITE_OK
        }
        self.registration.pointee.xAccess = { vfs, name, _, result in
            let system = VirtualFileSystem.of(vfs)
            guard system.disk.isOn else { return ResultCode.access }
            let exists = name.map { system.disk.file(String(cString: $0)) != nil } ?? false
            result?.pointee = exists ? 1 : 0
            return SQLITE_OK
        }
        self.registration.pointee.xFullPathname = { _, name, count, output in
            guard let name, let output else { return SQLITE_CANTOPEN }
            let path = String(cString: name).utf8CString
            guard path.count <= count else { return SQLITE_CANTOPEN }
            output.update(from: Array(path), count: path.count)
            return SQLITE_OK
        }
        self.registration.pointee.xRandomness = { vfs, count, output in
            guard let output else { return 0 }
            let bytes = VirtualFileSystem.of(vfs).random.bytes(Int(count))
            output.update(from: bytes.map { CChar(bitPattern: $0) }, count: bytes.count)
            return count
        }
        self.registration.pointee.xSleep = { _, microseconds in microseconds }
        self.registration.pointee.xCurrentTime = { vfs, days in
            days?.pointee = Double(VirtualFileSystem.of(vfs).julianMilliseconds) / 86_400_000
            return SQLITE_OK
        }
        self.registration.pointee.xCurrentTimeInt64 = { vfs, milliseconds in
            milliseconds?.pointee = VirtualFileSystem.of(vfs).julianMilliseconds
            return SQLITE_OK
        }
        self.registration.pointee.xGetLastError = { _, _, _ in 0 }
    }

    /// Milliseconds since noon on the day 0 of the Julian calendar, SQLite's own epoch.
    private var julianMilliseconds: sqlite3_int64 {
        210_866_760_000_000 + sqlite3_int64(clamping: self.disk.wallMilliseconds)
    }

    private static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> VirtualFileSystem {
        guard let data = vfs?.pointee.pAppData else { preconditionFailure("SQLite passes the file system") }
        return Unmanaged<VirtualFileSystem>.fromOpaque(data).takeUnretainedValue()
    }

    private func open(
        _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let file else { return SQLITE_CANTOPEN }
        file.pointee.pMethods = nil
        if !self.disk.enters(.open) { return SQLITE_CANTOPEN }
        let content: DiskFile
        if let name {
            let path = String(cString: name)
            if let existing = self.disk.file(path) {
                content = existing
            } else {
                guard flags & SQLITE_OPEN_CREATE != 0, self.disk.mayGrow() else { return SQLITE_CANTOPEN }
                content = self.disk.makeFile(path)
            }
        } else {
            content = DiskFile()
        }
        let handle = FileHandle(disk: self.disk, file: content)
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: OpenVirtualFile.self)
            .initialize(
                to: OpenVirtualFile(
                    base: sqlite3_file(pMethods: UnsafePointer(self.methods)),
                    handle: Unmanaged.passRetained(handle)
                )
            )
        outFlags?.pointee = flags
        return SQLITE_OK
    }
}

/// What SQLite keeps for a file that is open: its own part first.
struct OpenVirtualFile {
    var base: sqlite3_file
    var handle: Unmanaged<FileHandle>
}
