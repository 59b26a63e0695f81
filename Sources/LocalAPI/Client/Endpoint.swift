internal import CRDTCore
internal import Foundation
internal import PeerCrypto
package import PeerdKit
internal import Persistence

/// The file `api`: where the local API is on loopback, and the token that it wants.
package struct Endpoint: Hashable, Codable, Sendable {
    package var url: String
    package var token: String

    private static let tokenByteCount = 32
    private static let byteCountMax = 4 << 10

    package init(url: String, token: String) {
        self.url = url
        self.token = token
    }

    /// Reads the file of a directory; nil if it is not there or not one of ours.
    package static func load(_ paths: DirectoryPaths) -> Endpoint? {
        guard let bytes = try? RegularFile.content(of: paths.api, atMost: self.byteCountMax),
            let endpoint = try? JSON(parsing: Data(bytes))?.decoded(as: Endpoint.self),
            Hexadecimal.bytes(endpoint.token)?.count == self.tokenByteCount
        else { return nil }
        return endpoint
    }

    /// Writes the file, which only its owner can read.
    package func save(_ paths: DirectoryPaths) throws {
        try Array((JSON(self).canonicalText + "\n").utf8).withUnsafeBytes { try PrivateFile.write($0, to: paths.api) }
    }

    /// The token of the last time, so that programs that have it go on working; else a new one.
    package static func token(_ paths: DirectoryPaths) throws -> String {
        if let endpoint = self.load(paths) { return endpoint.token }
        return try RandomText.hexadecimal(byteCount: self.tokenByteCount)
    }
}
