import CRDTCore
import Foundation
import SyncProtocol

/// Runs in a file, one message after the other, as they go over the wire (before they are sealed).
struct RunFile {
    let path: String

    func write(_ runs: [Run]) throws {
        var bytes: [UInt8] = []
        for run in runs { bytes += Message.run(run).encoded() }
        try Data(bytes).write(to: URL(fileURLWithPath: self.path))
    }

    /// Hands over the pieces in which a transport delivers them, never holding more than one.
    func forEachPiece(_ body: ([UInt8]) throws -> Void) throws {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: self.path))
        defer { try? file.close() }
        while let piece = try file.read(upToCount: 256 << 10), !piece.isEmpty { try body(Array(piece)) }
    }

    /// Each message by itself.
    func messages() throws -> [[UInt8]] {
        var reader = MessageReader()
        var messages: [[UInt8]] = []
        try self.forEachPiece { piece in
            reader.append(piece)
            while let received = try reader.next() { messages.append(received.message.encoded()) }
        }
        return messages
    }

    var byteCount: Int {
        let attributes = try? FileManager.default.attributesOfItem(atPath: self.path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }
}
