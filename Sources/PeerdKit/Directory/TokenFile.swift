internal import Foundation
internal import PeerCrypto
internal import Persistence

/// The file `token`: which copy of the database is the one that was written last.
///
/// The same token is in the database, and both are new each time the program opens it to write. So a database that was
/// put back, or copied to another directory, has a token that is not in the file there. The file has several tokens
/// while it is not known which of them has reached the database.
package struct TokenFile {
    /// The tokens that the database may have.
    package let accepted: [[UInt8]]
    /// The one that it is to have.
    package let next: [UInt8]
    private let path: String
    private let isRenewed: Bool

    private static let tokenByteCount = 16
    /// More are left over only by as many opens in a row that failed.
    ///
    /// One that is forgotten makes a new replica.
    private static let tokenCountMax = 64

    /// To be called when the directory is locked, and before the database is written to.
    ///
    /// `renews`: false for whoever only reads; then the token stays, if there is exactly one.
    package static func open(_ paths: DirectoryPaths, renews: Bool) throws -> TokenFile {
        let tokens = try self.load(paths.token)
        if !renews, tokens.count == 1 {
            return TokenFile(accepted: tokens, next: tokens[0], path: paths.token, isRenewed: false)
        }
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else {
            throw PeerdError.noRandomness
        }
        let next = entropy.bytes(self.tokenByteCount)
        let file = TokenFile(accepted: tokens, next: next, path: paths.token, isRenewed: true)
        try file.write(tokens.suffix(self.tokenCountMax - 1) + [next])
        return file
    }

    /// Accepts no database that is there: whoever opens it next goes on under a new replica id.
    package static func acceptNone(_ paths: DirectoryPaths) throws {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()) else { throw PeerdError.noRandomness }
        let (none, path) = (entropy.bytes(self.tokenByteCount), paths.token)
        try TokenFile(accepted: [], next: none, path: path, isRenewed: true).settle()
    }

    /// To be called when the next token is durably in the database.
    package func settle() throws {
        if self.isRenewed { try self.write([self.next]) }
    }

    /// The tokens of a file; none if it is lost or not one of ours.
    private static func load(_ path: String) throws -> [[UInt8]] {
        let bytes: [UInt8]
        do throws(RegularFile.Failure) {
            bytes = try RegularFile.content(of: path, atMost: self.tokenByteCount * self.tokenCountMax)
        } catch {
            if case .notRegular = error { throw PeerdError(error, path) }
            return []
        }
        guard bytes.count % self.tokenByteCount == 0 else { return [] }
        return stride(from: 0, to: bytes.count, by: self.tokenByteCount).map {
            Array(bytes[$0..<$0 + self.tokenByteCount])
        }
    }

    private func write(_ tokens: [[UInt8]]) throws {
        try tokens.flatMap { $0 }.withUnsafeBytes { try PrivateFile.write($0, to: self.path) }
    }
}
