import CRDTCore
import Glibc

/// What tells a file from a copy of it: where it lies, and on which machine.
///
/// A database found with another identity than the one noted in it was copied or restored, and must go on under a new
/// replica id.
package struct FileIdentity: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// The text of `/etc/machine-id`; empty where there is none.
    package var machine: String

    package init(device: UInt64, inode: UInt64, machine: String) {
        self.device = device
        self.inode = inode
        self.machine = machine
    }

    init(path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw .inputOutput("\(path) cannot be examined: \(SystemError.text(errno)).")
        }
        self.init(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            inode: UInt64(truncatingIfNeeded: status.st_ino),
            machine: FileIdentity.machineText()
        )
    }

    private static func machineText() -> String {
        let descriptor = open("/etc/machine-id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = readBytes(descriptor, &bytes)
        return String(decoding: bytes.prefix(count).filter { $0 > 0x20 }, as: UTF8.self)
    }

    private static func readBytes(_ descriptor: Int32, _ bytes: inout [UInt8]) -> Int {
        max(0, read(descriptor, &bytes, bytes.count))
    }

    /// The identity as bytes to keep as a fact of the store.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(self.device)
        bytes.appendBigEndian(self.inode)
        bytes.append(contentsOf: self.machine.utf8)
        return bytes
    }
}

/// The operating system's words for its errors.
enum SystemError {
    static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}
