//! A file as the body of a response, read as fast as the client takes it.

use std::io;
use std::path::Path;

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

/// How much of the file is in memory.
const PIECE: usize = 64 << 10;

/// Opens a file: its body, and its length.
pub(crate) async fn open(path: &Path) -> io::Result<(Body, u64)> {
    let file = File::open(path).await?;
    let length = file.metadata().await?.len();
    // What is appended meanwhile is not part of the announced length.
    let pieces = stream::try_unfold((file, length), |(mut file, left)| async move {
        let mut piece = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
        match file.read(&mut piece).await? {
            _ if left == 0 => Ok(None),
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            read => {
                piece.truncate(read);
                Ok(Some((Bytes::from(piece), (file, left - read as u64))))
            }
        }
    });
    Ok((Body::from_stream(pieces), length))
}
