/// Why a disk did not do what it was asked.
package enum BlobDiskFailure: Error, Hashable, Sendable {
    /// There is no such file.
    case absent
    /// No room is left.
    case full
    /// The disk cannot read or write, in words.
    case failed(String)
}

/// The files of a blob store: the port through which it uses a disk.
///
/// All calls wait for the disk. What was written is safe once `sync` has returned for the file, and its name once
/// `syncFolder` has returned for its folder; before that a crash may leave any part of it.
package protocol BlobDisk {
    /// The length of a file in bytes; nil if there is none.
    func byteCount(of file: BlobFile) throws(BlobDiskFailure) -> UInt64?
    /// Reads up to so many bytes; fewer if the file ends.
    func read(_ file: BlobFile, at offset: UInt64, count: Int) throws(BlobDiskFailure) -> [UInt8]
    /// Writes into a file, which is made if there is none; what lies before it is zeros.
    mutating func write(_ bytes: [UInt8], to file: BlobFile, at offset: UInt64) throws(BlobDiskFailure)
    mutating func sync(_ file: BlobFile) throws(BlobDiskFailure)
    mutating func syncFolder(_ folder: BlobFile.Folder) throws(BlobDiskFailure)
    /// Gives a file another name, in the place of what has that.
    mutating func rename(_ file: BlobFile, to new: BlobFile) throws(BlobDiskFailure)
    /// Removes a file; nothing happens if there is none.
    mutating func remove(_ file: BlobFile) throws(BlobDiskFailure)
    /// The files of a folder, in any order; what has no name that the store gives is left out.
    func files(in folder: BlobFile.Folder) throws(BlobDiskFailure) -> [BlobFile]
}
